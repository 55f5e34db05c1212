-- One worker lives, and these of its requests are being downloaded. Answers {now, paused, blocked_until, known}:
-- known is 0 for a worker that was taken for dead, whose leases are others' now.
local known = redis.call('ZSCORE', WORKERS, args.worker) and 1 or 0
heard(args.worker, args.lease)
redis.call('HSET', key('beats'), args.worker, args.beat)
local started = key('started:' .. args.worker)
redis.call('DEL', started)
if #args.started > 0 then
  redis.call('SADD', started, unpack(args.started))
  redis.call('PEXPIRE', started, args.lease * 100)
end
local limit = redis.call('HMGET', RATE_LIMIT, 'paused', 'blocked_until')
return {now, limit[1] == '1' and 1 or 0, tonumber(limit[2] or 0), known}
