-- Enqueues dead letters again, args.spacing milliseconds apart, so that not all are sent at once. Returns how many.
return once(function()
  local replayed = 0
  for _, id in ipairs(args.ids) do
    local head = redis.call('ZSCORE', DEAD_LETTER_TIMES, id) and head_of(id)
    if head then
      redis.call('ZREM', DEAD_LETTER_TIMES, id)
      redis.call('HDEL', DEAD_LETTERS, id)
      redis.call('HDEL', TRIES, id)
      redis.call('HDEL', CRASHES, id)
      redis.call('SADD', key('job:' .. head.job), id)
      redis.call('ZADD', key('jobs'), now, head.job)
      redis.call('ZADD', DELAYED, now + replayed * args.spacing, id)
      count(head.job, head.stage, 'replayed')
      replayed = replayed + 1
    end
  end
  if replayed > 0 then wake() end
  return replayed
end)
