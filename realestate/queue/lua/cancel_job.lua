-- Cancels a job. Returns how many of its requests are left, leased ones included.
cancel(args.job, args.keep)
return redis.call('SCARD', key('job:' .. args.job))
