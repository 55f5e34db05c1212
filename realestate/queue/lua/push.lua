-- Enqueues requests that are not children of a leased page: seeds. Returns which were new.
check_types()
return enqueue_all(args.requests)
