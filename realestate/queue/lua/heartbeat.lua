-- A worker's heartbeat; args.started are the ids it is downloading. Returns {now, paused, blocked_until, known, waiting,
-- cancelled, takeable, open_jobs, dead_workers, seeds}: `known` is 0 if the worker counted as dead, so that its leases have
-- expired; `waiting` is the length of the queue; `cancelled` are jobs whose requests must not be sent any more; `takeable`
-- is 1 if there is something to take, or a dead worker to notice. `seeds` counts those that nobody has taken, and those that
-- are this worker's and that it does not know; args.seeds is their list, "" if it is not in this slot.
local known = redis.call('ZSCORE', WORKERS, args.worker) and 1 or 0
keep_alive(args.worker, args.lease)
redis.call('HSET', key('heartbeats'), args.worker, args.heartbeat)
local started = key('started:' .. args.worker)
redis.call('DEL', started)
if #args.started > 0 then
  redis.call('SADD', started, unpack(args.started))
  redis.call('PEXPIRE', started, args.lease * 100)
end
local limit = redis.call('HMGET', RATE_LIMIT, 'paused', 'blocked_until', 'paused_until')
local pause_ends = number(limit[3])
local paused = limit[1] == '1' and (pause_ends == 0 or pause_ends > now)
local ready = redis.call('ZCARD', READY) + redis.call('ZCARD', SUSPECTS)
local due = number(redis.call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')[2], false)
local silent = number(redis.call('ZRANGE', WORKERS, 0, 0, 'WITHSCORES')[2])
local takeable = ready > 0 or (due and due <= now) or silent <= now or redis.call('EXISTS', ASIDE) == 1
local seeds = 0
if args.seeds ~= '' then
  seeds = redis.call('LLEN', args.seeds) + math.max(0, redis.call('LLEN', args.taken_seeds) - args.known_seeds)
end
return {now, paused and 1 or 0, number(limit[2]), known, ready + redis.call('ZCARD', DELAYED),
        redis.call('SMEMBERS', REMOVED), takeable and 1 or 0, redis.call('HLEN', key('open_jobs')),
        redis.call('SCARD', key('dead_workers')), seeds}
