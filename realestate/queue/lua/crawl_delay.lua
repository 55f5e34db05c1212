-- Sets one host's Crawl-delay to args.delay milliseconds (0: none). The longest of all hosts limits the portal's rate.
-- Returns it.
local delays = key('crawl_delays')
if args.delay > 0 then
  redis.call('HSET', delays, args.origin, args.delay)
else
  redis.call('HDEL', delays, args.origin)
end
local longest = 0
for _, delay in ipairs(redis.call('HVALS', delays)) do longest = math.max(longest, number(delay)) end
if longest > 0 then
  redis.call('HSET', RATE_LIMIT, 'crawl_delay', longest)
else
  redis.call('HDEL', RATE_LIMIT, 'crawl_delay')
end
return longest
