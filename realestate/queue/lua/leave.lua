-- A worker stops: the requests it holds are ready again at once. Returns how many.
local held = redis.call('SMEMBERS', key('held:' .. args.worker))
for _, id in ipairs(held) do
  take_out(id)
  local head = head_of(id)
  if head then
    redis.call('ZADD', READY, score(head.priority, head.seq), id)
    wake()
  end
end
redis.call('DEL', key('held:' .. args.worker), key('started:' .. args.worker))
redis.call('ZREM', WORKERS, args.worker)
redis.call('HDEL', key('heartbeats'), args.worker)
return #held
