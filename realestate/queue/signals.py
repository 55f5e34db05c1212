"""Signals of our own, sent during a crawl through Scrapy's signal manager."""

#: () The spider serves the fleet from now on.
serving = object()
#: () The worker stops: it takes no more requests and finishes those it has.
stopping = object()
#: (response, error) The callback of a leased page has ended, and all that it yielded has been handled. `error` is what
#: it raised, or None. Whoever needs more time holds the lease before (`Fleet.hold`).
page_done = object()
#: (items) These are durable now: stored, or in quarantine.
items_stored = object()
#: (ref, hold) A page is kept as a snapshot. Who keeps the index releases the hold when its row is stored.
page_kept = object()
#: () The last batch is about to be written: who still has something for it hands it over now. Handlers may be async.
last_batch = object()
#: (contacts) What was taken out of a listing that is on its way to the store; only with CONTACTS on.
contacts_found = object()
