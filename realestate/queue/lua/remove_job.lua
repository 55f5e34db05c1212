-- Removes up to args.most requests of a cancelled job that no worker holds, and at the end what Redis remembers of its
-- pages. Returns {removed, left}. Leased requests are left until their workers settle them or die.
local mine, removed = key('job:' .. args.job), {}
local ids = redis.call('SPOP', mine, args.most)
if #ids > 0 then
  local leases, held = read_all(LEASES, ids), {}
  for index, id in ipairs(ids) do
    if leases[index] and redis.call('ZSCORE', INFLIGHT, id) then
      held[#held + 1] = id
    else
      removed[#removed + 1] = id
    end
  end
  all('SADD', mine, held)
  drop_all(removed)
  -- Once more, without effect on the data: Redis makes a large table smaller a few entries at a time, with each command
  -- that looks into it. With one command for each request the table stays as large as it was.
  all('HDEL', REQUESTS, removed)
  all('ZREM', READY, removed)
  if redis.call('SISMEMBER', ASIDE, args.job) == 1 then all('ZREM', key('aside:' .. args.job), removed) end
end
local left = redis.call('SCARD', mine)
if left == 0 then
  redis.call('SREM', REMOVED, args.job)
  redis.call('SREM', ASIDE, args.job)
  redis.call('UNLINK', key('aside:' .. args.job), key('limit:' .. args.job))
  local seen = {}
  for bucket = 0, args.buckets - 1 do seen[#seen + 1] = key('seen:' .. args.job .. ':' .. bucket) end
  for first = 1, #seen, PIECE do
    redis.call('UNLINK', unpack(seen, first, math.min(first + PIECE - 1, #seen)))
  end
end
return {#removed, left}
