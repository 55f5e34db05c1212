-- Deletes dead letters for good. Returns how many.
return once(function()
  local dropped = 0
  for _, id in ipairs(args.ids) do
    if redis.call('ZREM', DEAD_LETTER_TIMES, id) == 1 then
      redis.call('HDEL', DEAD_LETTERS, id)
      redis.call('HDEL', REQUESTS, id)
      redis.call('HDEL', TRIES, id)
      redis.call('HDEL', CRASHES, id)
      dropped = dropped + 1
    end
  end
  return dropped
end)
