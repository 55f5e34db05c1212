-- One host's Crawl-delay is args.floor milliseconds (0: it asks for none). The portal has one pace: the slowest counts.
local floors = key('floors')
if args.floor > 0 then
  redis.call('HSET', floors, args.origin, args.floor)
else
  redis.call('HDEL', floors, args.origin)
end
local slowest = 0
for _, floor in ipairs(redis.call('HVALS', floors)) do slowest = math.max(slowest, tonumber(floor)) end
if slowest > 0 then
  redis.call('HSET', PACE, 'floor', slowest)
else
  redis.call('HDEL', PACE, 'floor')
end
return slowest
