-- The site refuses requests: the whole fleet halves its rate, and sends nothing for args.wait milliseconds.
return once(function()
  local factor = number(redis.call('HGET', RATE_LIMIT, 'factor'), 1)
  redis.call('HSET', RATE_LIMIT, 'factor', math.max(factor / 2, args.least), 'refused_at', now, 'reason', args.reason)
  local blocked = number(redis.call('HGET', RATE_LIMIT, 'blocked_until'))
  if args.wait > 0 and now + args.wait > blocked then
    redis.call('HSET', RATE_LIMIT, 'blocked_until', now + args.wait)
  end
  return now
end)
