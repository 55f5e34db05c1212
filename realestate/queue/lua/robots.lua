-- Reads what the fleet knows about a host's robots.txt. Returns {now, must_fetch, again_at, failures, read_at, text,
-- reason}: must_fetch is 1 for the one worker that has to fetch the file now, because it is due and no live worker
-- holds the lock. args.fetching says whether this worker is fetching it: if it holds the lock and does not fetch, the
-- reply that gave it the lock was lost, or its fetch ended without a result.
local known = redis.call('HMGET', key('robots:' .. args.origin), 'again_at', 'failures', 'read_at', 'text', 'reason')
local must_fetch = 0
if now >= number(known[1]) then
  local lock = key('robots:' .. args.origin .. ':lock')
  local other = redis.call('GET', lock)
  local dead_at = other and redis.call('ZSCORE', WORKERS, other)
  local is_forgotten = other == args.worker and not args.fetching
  if not dead_at or number(dead_at) <= now or is_forgotten then
    redis.call('SET', lock, args.worker, 'PX', args.longest)
    must_fetch = 1
  end
end
return {now, must_fetch, number(known[1]), number(known[2]), number(known[3]), known[4], known[5]}
