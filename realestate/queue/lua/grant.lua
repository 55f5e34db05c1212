-- How many of the args.wanted items on a page the job may fetch, of args.limit in all. Returns {granted, left}. The same
-- page gets the same reply again: a page that is read twice does not use the limit twice.
local hash = key('limit:' .. args.job)
local used = number(redis.call('HGET', hash, 'used'))
local granted = number(redis.call('HGET', hash, args.page), false)
if not granted then
  granted = math.max(0, math.min(args.wanted, args.limit - used))
  used = used + granted
  if args.wanted > 0 then redis.call('HSET', hash, args.page, granted, 'used', used) end
  redis.call('EXPIRE', hash, args.keep)
end
return {granted, math.max(0, args.limit - used)}
