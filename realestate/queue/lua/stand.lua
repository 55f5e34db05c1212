-- An exit's standing becomes args.new, if it is still args.old (false: none is known). Answers whether it was. Somebody may
-- have waited for it.
local name = key('exits')
if redis.call('HGET', name, args.exit) ~= args.old then return 0 end
redis.call('HSET', name, args.exit, args.new)

-- Lists of proxies bring new names all day: for each some others are looked at, and who was not used for args.keep is
-- forgotten. So few are left that no sweep is ever needed.
local LOOKED_AT = 20
if not args.old then
  local frees, forgotten = redis.call('HRANDFIELD', key('exits:free'), LOOKED_AT, 'WITHVALUES'), {}
  for index = 1, #frees, 2 do
    if now - tonumber(frees[index + 1]) > args.keep then forgotten[#forgotten + 1] = frees[index] end
  end
  for _, hash in ipairs({name, key('exits:free'), key('exits:asked')}) do all('HDEL', hash, forgotten) end
end
ring()
return 1
