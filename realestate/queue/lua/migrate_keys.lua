-- Renames keys of an earlier version. A key that exists under its new name is left alone. Returns how many were renamed.
local renamed = 0
for _, names in ipairs(args.renamed) do
  if redis.call('EXISTS', key(names[1])) == 1 then
    renamed = renamed + redis.call('RENAMENX', key(names[1]), key(names[2]))
  end
end
return renamed
