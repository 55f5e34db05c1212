-- Renames what an older version has left: args.keys are pairs {old, new}, args.fields are {key, old, new} of hashes.
-- A new name that exists already stays as it is. Returns how many keys and fields were renamed.
local renamed = 0
for _, pair in ipairs(args.keys) do
  local old, new = key(pair[1]), key(pair[2])
  if redis.call('EXISTS', old) == 1 then renamed = renamed + redis.call('RENAMENX', old, new) end
end
for _, field in ipairs(args.fields) do
  local hash, old, new = key(field[1]), field[2], field[3]
  local value = redis.call('HGET', hash, old)
  if value then
    renamed = renamed + redis.call('HSETNX', hash, new, value)
    redis.call('HDEL', hash, old)
  end
end
return renamed
