-- Settles leases, each completely or not at all: {id, token, outcome, detail, children, unused, cost}. The proxy `unused`
-- was granted and not used, so it is free again. `cost` is {requests sent, bytes received, requests sent through a proxy}. Requests in args.early are children that are sent before their page is
-- settled. The settlement repeats them, and they are duplicates then.
-- Returns 1 for each lease that was still ours, 0 for one that another worker has taken meanwhile.

check_types()

local ids = {}
for index, entry in ipairs(args.leases) do ids[index] = entry[1] end
local leases, bodies = read_all(LEASES, ids), read_all(REQUESTS, ids)

local results, ended, jobs, children = {}, {}, {}, args.early
local done, done_leases, done_heads = {}, {}, {}
local add, write = tally()

for index, entry in ipairs(args.leases) do
  local id, token, outcome, detail = entry[1], entry[2], entry[3], entry[4]
  local lease = not ended[id] and leases[index]
  local head = lease and head_from(bodies[index])
  results[index] = 0
  if head and string.match(lease, '^(%d+):') == token then
    results[index], ended[id], jobs[head.job] = 1, true, true
    for _, child in ipairs(entry[5]) do children[#children + 1] = child end
    if entry[6] and entry[6] ~= '' then redis.call('HDEL', key('proxies:used_at'), entry[6]) end
    for place, what in ipairs({'requests', 'bytes', 'proxied'}) do
      if entry[7][place] > 0 then add(head.job, head.stage, what, entry[7][place]) end
    end
    if outcome == 'done' then
      done[#done + 1], done_leases[#done + 1], done_heads[#done + 1] = id, lease, head
      add(head.job, head.stage, 'done')
    elseif outcome == 'dead' then
      add_dead_letter(id, head, detail, args.dead_letters_keep)
    elseif outcome == 'back' then
      take_out(id)
      redis.call('ZADD', READY, score(head.priority, head.seq), id)
      wake()
    elseif outcome == 'retry' then
      take_out(id)
      if detail[3] ~= 0 then increase(TRIES, id) end
      redis.call('HSET', REQUESTS, id, pack_request(head.priority, head.seq, head.job, head.stage, detail[2]))
      redis.call('ZADD', DELAYED, now + detail[1], id)
      wake() -- a waiting worker learns when it is due
      add(head.job, head.stage, 'retried')
    end
  end
end

delete_all(done, done_leases, done_heads)
enqueue_all(children)
write()
for job in pairs(jobs) do redis.call('ZADD', key('jobs'), now, job) end
return results
