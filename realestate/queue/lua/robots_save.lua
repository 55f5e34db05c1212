-- Stores the result of a robots.txt fetch. args.text is its text, or false if the fetch failed because of args.reason:
-- then the old text stays. It is fetched again in args.wait milliseconds. Returns that time.
local known, lock = key('robots:' .. args.origin), key('robots:' .. args.origin .. ':lock')
local again_at = now + args.wait
if args.text then
  redis.call('HSET', known, 'text', args.text, 'read_at', now, 'failures', 0, 'reason', '', 'again_at', again_at)
  if redis.call('HGET', RATE_LIMIT, 'robots_origin') == args.origin then
    redis.call('HDEL', RATE_LIMIT, 'robots_origin', 'robots_reason', 'robots_failures', 'robots_again_at')
  end
else
  local failures = increase(known, 'failures')
  redis.call('HSET', known, 'reason', args.reason, 'again_at', again_at)
  -- For people who wonder why nothing is sent.
  redis.call('HSET', RATE_LIMIT, 'robots_origin', args.origin, 'robots_reason', args.reason,
    'robots_failures', failures, 'robots_again_at', again_at)
end
redis.call('PEXPIRE', known, args.keep)
if redis.call('GET', lock) == args.worker then redis.call('DEL', lock) end
return again_at
