-- Enqueues requests that are not children of a leased page: seeds. Returns which were new.
return enqueue_all(args.requests)
