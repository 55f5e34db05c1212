"""Signals that the project adds to Scrapy's."""

#: () The spider serves the fleet from now on.
serving = object()
#: () The worker stops: it takes no more requests and finishes those it has.
stopping = object()
#: (response, error) The callback of a leased page has ended, and all that it yielded has been handled. `error` is what
#: it raised, or None. A handler that needs more time holds the lease before (`Fleet.hold`).
page_done = object()
#: (request, error) A page could not be parsed. The spider has handled the error, so Scrapy sends no `spider_error`.
page_unreadable = object()
#: (items) These are durable now: stored, or in quarantine.
items_stored = object()
#: (ref, hold) A page is kept as a snapshot. The store pipeline releases the hold when the index row is stored.
page_kept = object()
#: () The last batch is about to be written: handlers that have something for it add it now. Handlers may be async.
last_batch = object()
#: (contacts) The contacts that were removed from a listing before it is stored. Only with CONTACTS on.
contacts_found = object()
