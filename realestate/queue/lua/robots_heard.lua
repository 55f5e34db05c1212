-- A host was asked for its robots.txt. args.text is what it says; false: nothing that counts, because of args.reason, and
-- what it said before stays. It is asked again in args.wait milliseconds. Answers when that is.
local known, asking = key('robots:' .. args.origin), key('asking:' .. args.origin)
local again_at = now + args.wait
if args.text then
  redis.call('HSET', known, 'text', args.text, 'read_at', now, 'failures', 0, 'reason', '', 'again_at', again_at)
else
  redis.call('HINCRBY', known, 'failures', 1)
  redis.call('HSET', known, 'reason', args.reason, 'again_at', again_at)
end
redis.call('PEXPIRE', known, args.keep)
if redis.call('GET', asking) == args.worker then redis.call('DEL', asking) end
return again_at
