-- An exit's standing becomes args.new, if it is still args.old (false: none is known). Answers whether it was. Somebody may
-- have waited for it.
local name = key('exits')
if redis.call('HGET', name, args.exit) ~= args.old then return 0 end
redis.call('HSET', name, args.exit, args.new)
ring()
return 1
