-- Enqueue requests that no lease stands behind: seeds. Answers which were new.
return enqueue_all(args.requests)
