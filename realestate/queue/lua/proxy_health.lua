-- Sets a proxy's health to args.new if it is still args.old (false: it was not known). Returns 1 if it was set, else 0.
-- If it is args.new already, the same call was executed before and its reply was lost.
local name = key('proxies')
local stored = redis.call('HGET', name, args.proxy)
if stored == args.new then return 1 end
if stored ~= args.old then return 0 end
redis.call('HSET', name, args.proxy, args.new)

-- Proxy lists bring new ids all day. For each new id some others are checked, and those not used for args.keep
-- milliseconds are deleted. This keeps the hashes small without a separate clean-up.
local CHECKED = 20
if not args.old then
  local free_at, expired = redis.call('HRANDFIELD', key('proxies:free_at'), CHECKED, 'WITHVALUES'), {}
  for index = 1, #free_at, 2 do
    if now - number(free_at[index + 1]) > args.keep then expired[#expired + 1] = free_at[index] end
  end
  for _, hash in ipairs({name, key('proxies:free_at'), key('proxies:used_at')}) do all('HDEL', hash, expired) end
end
wake() -- a worker may be waiting for this proxy
return 1
