-- Enqueue requests that no lease stands behind: seeds. Returns which were new.
return enqueue_all(args.requests)
