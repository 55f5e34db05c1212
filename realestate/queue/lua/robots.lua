-- What the fleet knows of a host's robots.txt. Answers {now, asks, again_at, failures, read_at, text, reason}: asks is 1
-- for the one worker that is to ask the host now, because it is time and nobody who lives is asking.
local known = redis.call('HMGET', key('robots:' .. args.origin), 'again_at', 'failures', 'read_at', 'text', 'reason')
local asks = 0
if now >= tonumber(known[1] or 0) then
  local asking = key('asking:' .. args.origin)
  local other = redis.call('GET', asking)
  local dead_at = other and redis.call('ZSCORE', WORKERS, other)
  if not dead_at or tonumber(dead_at) <= now then
    redis.call('SET', asking, args.worker, 'PX', args.longest)
    asks = 1
  end
end
return {now, asks, tonumber(known[1] or 0), tonumber(known[2] or 0), tonumber(known[3] or 0), known[4], known[5]}
