-- End a pause; with args.automatic only one that a worker made. A robots.txt that could not be fetched is tried again at
-- once. Returns whether there was anything to end.
local state = redis.call('HMGET', RATE_LIMIT, 'paused', 'paused_until', 'robots_origin')
local ended = 0
if state[3] then
  redis.call('HSET', key('robots:' .. state[3]), 'again_at', 0, 'failures', 0)
  redis.call('HDEL', RATE_LIMIT, 'robots_origin', 'robots_reason', 'robots_failures', 'robots_again_at')
  ended = 1
end
if state[1] == '1' and not (args.automatic and number(state[2]) == 0) then
  end_pause()
  ended = 1
end
if ended == 1 then redis.call('LPUSH', key('wake_ups'), 1) end
return ended
