-- Dead letters are thrown away for good. Answers how many.
local dropped = 0
for _, id in ipairs(args.ids) do
  if redis.call('ZREM', DEAD, id) == 1 then
    redis.call('HDEL', LETTERS, id)
    redis.call('HDEL', REQUESTS, id)
    redis.call('HDEL', TRIES, id)
    redis.call('HDEL', CRASHES, id)
    dropped = dropped + 1
  end
end
return dropped
