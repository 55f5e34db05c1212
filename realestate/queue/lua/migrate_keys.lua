-- Renames keys of an earlier version (args.renamed: {old, new}) and fields of hashes (args.fields: {key, old, new}).
-- What exists under its new name is not changed. Returns how many were renamed.
local renamed = 0
for _, names in ipairs(args.renamed) do
  if redis.call('EXISTS', key(names[1])) == 1 then
    renamed = renamed + redis.call('RENAMENX', key(names[1]), key(names[2]))
  end
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
