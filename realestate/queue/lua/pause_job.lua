-- Pauses a job, or ends its pause. Returns 1 if that changed anything.
if redis.call('ZSCORE', CANCELLED, args.job) then return 0 end
if args.paused then return redis.call('SADD', PAUSED, args.job) end
local changed = redis.call('SREM', PAUSED, args.job)
wake()
return changed
