"""What the rooms tell each other during a crawl, through Scrapy's signals."""

#: () The spider serves the fleet from now on.
serving = object()
#: () The worker was told to end: it takes no more, and finishes what it has.
stopping = object()
#: (item) An item waits for the store; it is durable only with `items_stored`.
item_waits = object()
#: (items) These are durable now: stored, or in quarantine.
items_stored = object()
#: (ref) A page is kept as a snapshot; its row goes into the index with the next batch, and is among `items_stored`.
page_kept = object()
#: () The last batch is about to be written: who still has something for it hands it over now. Handlers may be async.
last_batch = object()
#: (contacts) What was taken out of a listing that is on its way to the store; only with CONTACTS on.
contacts_found = object()
