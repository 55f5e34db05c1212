"""What the rooms tell each other during a crawl, through Scrapy's signals."""

#: () The spider serves the fleet from now on.
serving = object()
#: (item) An item waits for the store; it is durable only with `items_stored`.
item_waits = object()
#: (items) These are durable now: stored, or in quarantine.
items_stored = object()
#: (contacts) What was taken out of a listing that is on its way to the store; only with CONTACTS on.
contacts_found = object()
