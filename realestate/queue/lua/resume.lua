-- End a pause; with args.automatic only one that a worker made. Returns whether there was such a pause.
local paused = redis.call('HMGET', RATE_LIMIT, 'paused', 'paused_until')
if paused[1] ~= '1' or (args.automatic and tonumber(paused[2] or 0) == 0) then return 0 end
end_pause()
redis.call('LPUSH', key('wake_ups'), 1)
return 1
