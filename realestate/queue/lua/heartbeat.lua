-- A worker's heartbeat; args.started are the ids it is downloading. Returns {now, paused, blocked_until, known,
-- waiting, cancelled}: known is 0 if the worker counted as dead, so that its leases have expired; waiting is the length of
-- the queue; cancelled are jobs whose requests must not be sent any more.
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
local pause_ends = tonumber(limit[3] or 0)
local paused = limit[1] == '1' and (pause_ends == 0 or pause_ends > now)
local waiting = 0
for _, place in ipairs({READY, SUSPECTS, DELAYED}) do waiting = waiting + redis.call('ZCARD', place) end
return {now, paused and 1 or 0, tonumber(limit[2] or 0), known, waiting, redis.call('SMEMBERS', REMOVED)}
