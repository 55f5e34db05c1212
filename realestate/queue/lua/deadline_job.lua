-- Cancels the job in this many milliseconds, unless it is finished by then. Safe to repeat: the first call counts.
redis.call('ZADD', key('deadlines'), 'NX', now + args.wait, args.job)
return 1
