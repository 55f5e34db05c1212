-- Pause the portal, because of args.reason, on behalf of args.by: for args.wait milliseconds, or with 0 until somebody
-- resumes it. A pause by a worker never shortens one by a person.
local paused = redis.call('HMGET', RATE_LIMIT, 'paused', 'paused_until')
local by_person = paused[1] == '1' and number(paused[2]) == 0
if args.wait == 0 or not by_person then
  redis.call('HSET', RATE_LIMIT, 'paused', '1', 'paused_reason', args.reason, 'paused_by', args.by, 'paused_at', now,
    'paused_until', args.wait > 0 and now + args.wait or 0)
end
return now
