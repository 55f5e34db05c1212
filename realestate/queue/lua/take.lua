-- Lease up to args.most requests to args.worker, as far as the site's pace allows within args.ahead milliseconds.
-- Answers {now, wait, paused, {id, token, send_at, tries, priority, job, stage, payload}, …}: `wait` is when to ask
-- again at the latest (-1: only the bell tells).

heard(args.worker, args.lease)

-- What the dead held is ready again. A request whose download had begun is suspected of having brought its worker
-- down: it is redelivered alone, and given up when it has taken args.poison workers with it.
local function reclaim(worker)
  local started = {}
  for _, id in ipairs(redis.call('SMEMBERS', key('started:' .. worker))) do started[id] = true end
  for _, id in ipairs(redis.call('SMEMBERS', key('held:' .. worker))) do
    local head = head_of(id)
    if not head then
      take_out(id)
    elseif not started[id] then
      give_back(id)
    else
      local crashes = redis.call('HINCRBY', CRASHES, id, 1)
      if crashes >= args.poison then
        bury(id, head, cjson.encode({reason = 'poison', error = 'took ' .. crashes .. ' workers down', at = now,
                                     job = head.job, stage = head.stage, tries = crashes}), args.letters)
      else
        redis.call('ZREM', INFLIGHT, id)
        redis.call('ZADD', SUSPECTS, score(head.priority, head.seq), id)
        ring()
      end
    end
    count(head and head.job or 'none', head and head.stage or 'none', 'reclaimed')
  end
  redis.call('DEL', key('held:' .. worker), key('started:' .. worker))
  redis.call('ZREM', WORKERS, worker)
  redis.call('HDEL', key('beats'), worker)
  redis.call('SADD', key('departed'), worker)
end

if now >= tonumber(redis.call('GET', key('mercy')) or 0) then
  for _, worker in ipairs(redis.call('ZRANGEBYSCORE', WORKERS, '-inf', now, 'LIMIT', 0, 4)) do reclaim(worker) end
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', DELAYED, '-inf', now, 'LIMIT', 0, 200)) do
  redis.call('ZREM', DELAYED, id)
  local head = head_of(id)
  if head then redis.call('ZADD', READY, score(head.priority, head.seq), id) end
end

local pace = {}
local fields = redis.call('HGETALL', PACE)
for i = 1, #fields, 2 do pace[fields[i]] = fields[i + 1] end

if pace.paused == '1' then return {now, -1, 1} end

-- The rate recovers a step at a time after a refusal.
local blocked = tonumber(pace.blocked_until or 0)
local factor = tonumber(pace.factor or 1)
if factor < 1 and now - math.max(tonumber(pace.refused_at or 0), blocked) >= args.recover then
  factor = math.min(1, factor * 2)
  redis.call('HSET', PACE, 'factor', factor, 'refused_at', now)
end
local interval = args.rate > 0 and 1000 / (args.rate * factor) or 0
interval = math.max(interval, tonumber(pace.floor or 0))
redis.call('HSET', PACE, 'rate', args.rate, 'burst', args.burst)

local free = tonumber(pace.free_at or 0)
local room = args.concurrency > 0 and args.concurrency - redis.call('ZCARD', INFLIGHT) or args.most
local most = math.min(args.most, room)

local answer = {now, -1, 0}
local held = key('held:' .. args.worker)

-- When the next may be sent: GCRA, its spacing never shorter than the interval, longer by a random part of it.
local function next_slot()
  local at = math.max(now, blocked, free - (args.burst - 1) * interval)
  if at - now > args.ahead then return nil, at end
  return at, nil
end

local function lease(id, at)
  local head = head_of(id)
  if not head then return false end
  local token = redis.call('INCR', key('tokens'))
  redis.call('HSET', LEASES, id, token .. ':' .. args.worker)
  redis.call('ZADD', INFLIGHT, at, id)
  redis.call('SADD', held, id)
  answer[#answer + 1] = {id, tostring(token), at, tonumber(redis.call('HGET', TRIES, id) or 0), head.priority,
                         head.job, head.stage, head.payload}
  if interval > 0 then
    local jitter = interval * args.jitter * (redis.call('INCR', key('grants')) * 7919 % 1000) / 1000
    free = math.max(at, free) + interval + jitter
  end
  return true
end

-- No bell tells when a worker's hands are empty: it asks again so soon.
local SUSPECT_WAIT = 250

-- A suspect travels alone: to a worker that holds nothing, and which gets nothing else until it is settled.
for _, id in ipairs(redis.call('SMEMBERS', held)) do
  if redis.call('HEXISTS', CRASHES, id) == 1 then
    answer[2] = now + SUSPECT_WAIT
    return answer
  end
end
-- One worker at a time lets its hands grow empty for one, or suspects would wait as long as there is other work.
local suspected = redis.call('ZCARD', SUSPECTS) > 0
if suspected and redis.call('SCARD', held) > 0 then
  redis.call('SET', key('emptying'), args.worker, 'NX', 'PX', args.lease)
  if redis.call('GET', key('emptying')) == args.worker then
    answer[2] = now + SUSPECT_WAIT
    return answer
  end
end
if suspected and redis.call('SCARD', held) == 0 then
  redis.call('DEL', key('emptying'))
  local at, later = next_slot()
  if not at then answer[2] = later return answer end
  local popped = redis.call('ZPOPMIN', SUSPECTS)
  lease(popped[1], at)
else
  while most > 0 and redis.call('ZCARD', READY) > 0 do
    local at, later = next_slot()
    if not at then answer[2] = later break end
    local popped = redis.call('ZPOPMIN', READY)
    if lease(popped[1], at) then most = most - 1 end
  end
end
if interval > 0 then redis.call('HSET', PACE, 'free_at', free) end

if answer[2] == -1 and redis.call('ZCARD', SUSPECTS) > 0 then answer[2] = now + SUSPECT_WAIT end
if answer[2] == -1 then
  local due = redis.call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
  if due[2] then answer[2] = tonumber(due[2]) end
end
-- When the first worker would be taken for dead, look again: no bell tells that either.
local silent = tonumber(redis.call('ZRANGE', WORKERS, 0, 0, 'WITHSCORES')[2])
silent = math.max(silent + 1, tonumber(redis.call('GET', key('mercy')) or 0))
if answer[2] == -1 or silent < answer[2] then answer[2] = silent end
return answer
