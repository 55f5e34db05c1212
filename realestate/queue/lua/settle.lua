-- End leases, each wholly or not at all: {id, token, outcome, detail, children}. Requests in args.early are children
-- sent before their page is settled; the settlement repeats them, and they are then known.
-- Answers 1 for each lease that was ours to end, 0 for one that another worker has taken meanwhile.

local function push_all(requests)
  for _, request in ipairs(requests) do
    enqueue(request[1], request[2], request[3], request[4], request[5], request[6], request[7], request[8], args.keep)
  end
end

push_all(args.early)

local answers = {}
for index, entry in ipairs(args.leases) do
  local id, token, outcome, detail, children = entry[1], entry[2], entry[3], entry[4], entry[5]
  local lease = redis.call('HGET', LEASES, id)
  local head = lease and head_of(id)
  answers[index] = 0
  if head and string.match(lease, '^(%d+):') == token then
    answers[index] = 1
    push_all(children)
    if outcome == 'done' then
      forget(id, head)
      count(head.job, head.stage, 'done')
    elseif outcome == 'dead' then
      bury(id, head, detail, args.letters)
    elseif outcome == 'back' then
      take_out(id)
      redis.call('ZADD', READY, score(head.priority, head.seq), id)
      ring()
    elseif outcome == 'retry' then
      take_out(id)
      if detail[3] ~= 0 then redis.call('HINCRBY', TRIES, id, 1) end
      redis.call('HSET', REQUESTS, id, pack_request(head.priority, head.seq, head.job, head.stage, detail[2]))
      redis.call('ZADD', DELAYED, now + detail[1], id)
      count(head.job, head.stage, 'retried')
    end
    redis.call('ZADD', key('jobs'), now, head.job)
  end
end
return answers
