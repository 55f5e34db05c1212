-- Leases up to args.most requests to args.worker, as the site's rate limit allows within args.ahead milliseconds.
-- Returns {now, wait, paused, reclaimed, {id, token, send_at, tries, priority, job, stage, payload, proxy_id}, …}: `wait`
-- is when to call this again at the latest (-1: only after a wake-up). `reclaimed` is {{worker, requests}, …} of workers
-- that this call found dead. args.proxies are the worker's proxies, as {id, tier}.

check_types()
keep_alive(args.worker, args.lease)

-- Requests that Redis counts as the worker's and the worker does not know are ready again: the reply was lost.
if args.mine then
  local mine = {}
  for _, id in ipairs(args.mine) do mine[id] = true end
  for _, id in ipairs(redis.call('SMEMBERS', key('held:' .. args.worker))) do
    if not mine[id] then
      local head = head_of(id)
      take_out(id)
      if head then
        local place = redis.call('HEXISTS', CRASHES, id) == 1 and SUSPECTS or READY
        redis.call('ZADD', place, score(head.priority, head.seq), id)
        count(head.job, head.stage, 'reclaimed')
      end
    end
  end
end

-- The requests of a dead worker are ready again. A request whose download had begun may have crashed the worker: it is
-- leased alone, and becomes a dead letter after args.poison crashes.
local reclaimed = {}
local function reclaim(worker)
  local started = {}
  reclaimed[#reclaimed + 1] = {worker, redis.call('SCARD', key('held:' .. worker))}
  for _, id in ipairs(redis.call('SMEMBERS', key('started:' .. worker))) do started[id] = true end
  for _, id in ipairs(redis.call('SMEMBERS', key('held:' .. worker))) do
    local head = head_of(id)
    if not head then
      take_out(id)
    elseif not started[id] then
      give_back(id)
    else
      local crashes = increase(CRASHES, id)
      if crashes >= args.poison then
        add_dead_letter(id, head, cjson.encode({reason = 'poison', error = crashes .. ' workers died while they processed it', at = now,
                                     job = head.job, stage = head.stage, tries = crashes}), args.dead_letters_keep)
      else
        redis.call('ZREM', INFLIGHT, id)
        redis.call('ZADD', SUSPECTS, score(head.priority, head.seq), id)
        wake()
      end
    end
    count(head and head.job or 'none', head and head.stage or 'none', 'reclaimed')
  end
  redis.call('DEL', key('held:' .. worker), key('started:' .. worker))
  redis.call('ZREM', WORKERS, worker)
  redis.call('HDEL', key('heartbeats'), worker)
  redis.call('SADD', key('dead_workers'), worker)
end

if now >= number(redis.call('GET', key('grace_until'))) then
  for _, worker in ipairs(redis.call('ZRANGEBYSCORE', WORKERS, '-inf', now, 'LIMIT', 0, 4)) do reclaim(worker) end
end

local due = redis.call('ZRANGEBYSCORE', DELAYED, '-inf', now, 'LIMIT', 0, 200)
if #due > 0 then
  all('ZREM', DELAYED, due)
  local scored = {}
  for index, stored in pairs(read_all(REQUESTS, due)) do
    local head = head_from(stored)
    if head then
      scored[#scored + 1] = score(head.priority, head.seq)
      scored[#scored + 1] = due[index]
    end
  end
  all('ZADD', READY, scored)
end

-- Jobs whose deadline is over are cancelled.
for _, job in ipairs(redis.call('ZRANGEBYSCORE', key('deadlines'), '-inf', now, 'LIMIT', 0, 10)) do
  cancel(job, args.keep)
end

-- Requests of a job that is not paused any more are ready again, some at a time.
local ASIDE_STEP = 500
for _, job in ipairs(redis.call('SMEMBERS', ASIDE)) do
  if redis.call('SISMEMBER', PAUSED, job) == 0 then
    local popped, back = redis.call('ZPOPMIN', key('aside:' .. job), ASIDE_STEP), {}
    for index = 1, #popped, 2 do back[index], back[index + 1] = popped[index + 1], popped[index] end
    all('ZADD', READY, back)
    if redis.call('EXISTS', key('aside:' .. job)) == 0 then redis.call('SREM', ASIDE, job) end
    break
  end
end

-- Why a request is not leased now: its job is cancelled, or paused.
local removed, paused, has_marks = {}, {}, false
for marked, name in pairs({[removed] = REMOVED, [paused] = PAUSED}) do
  for _, job in ipairs(redis.call('SMEMBERS', name)) do
    marked[job] = true
    has_marks = true
  end
end

-- Takes requests of marked jobs out of the queue: deletes them, or sets them aside.
local function put_away(ids, heads)
  local dropped, of_job, aside = {}, {}, {}
  for index, id in ipairs(ids) do
    local head = heads[index]
    if removed[head.job] then
      dropped[#dropped + 1] = id
      gather(of_job, head.job, id)
    else
      gather(aside, head.job, score(head.priority, head.seq))
      gather(aside, head.job, id)
    end
  end
  drop_all(dropped)
  for job, its in pairs(of_job) do all('SREM', key('job:' .. job), its) end
  for job, scored in pairs(aside) do
    all('ZADD', key('aside:' .. job), scored)
    redis.call('SADD', ASIDE, job)
  end
  all('ZREM', READY, ids)
end

-- Requests of marked jobs at the head of the queue, looked at together; and the most in one call.
local HEAD_STEP, HEAD_MOST = 100, 200
local function clear_head()
  local seen = 0
  while seen < HEAD_MOST do
    local first = redis.call('ZRANGE', READY, 0, HEAD_STEP - 1)
    local ids, heads = {}, {}
    for index, stored in pairs(read_all(REQUESTS, first)) do
      local head = head_from(stored)
      if head and (removed[head.job] or paused[head.job]) then
        ids[#ids + 1] = first[index]
        heads[#heads + 1] = head
      end
    end
    if #ids > 0 then put_away(ids, heads) end
    if #ids < #first or #first == 0 then return true end
    seen = seen + #ids
  end
  return false
end

local limit = {}
local fields = redis.call('HGETALL', RATE_LIMIT)
for i = 1, #fields, 2 do limit[fields[i]] = fields[i + 1] end

if limit.paused == '1' then
  local ends = number(limit.paused_until)
  if ends == 0 then return {now, -1, 1, reclaimed} end
  if ends > now then return {now, ends, 1, reclaimed} end
  end_pause()
end

-- The rate recovers a step at a time after a refusal.
local blocked = number(limit.blocked_until)
local factor = number(limit.factor, 1)
if factor <= 0 or factor > 1 then factor = 1 end
if factor < 1 and now - math.max(number(limit.refused_at), blocked) >= args.recover then
  factor = math.min(1, factor * 2)
  redis.call('HSET', RATE_LIMIT, 'factor', factor, 'refused_at', now)
end
local interval = args.rate > 0 and 1000 / (args.rate * factor) or 0
interval = math.max(interval, number(limit.crawl_delay))
redis.call('HSET', RATE_LIMIT, 'rate', args.rate, 'burst', args.burst)

local free = number(limit.free_at)
local room = args.concurrency > 0 and args.concurrency - redis.call('ZCARD', INFLIGHT) or args.most
local most = math.min(args.most, room)

local reply = {now, -1, 0, reclaimed}
local held = key('held:' .. args.worker)

-- A value that somebody else wrote must not stop the portal: it counts as unknown.
local function read_json(text)
  local is_valid, value = pcall(cjson.decode, text)
  return is_valid and type(value) == 'table' and value or {}
end

-- The proxies that can be used: those of the cheapest tier with one that does not rest. `resting` is when the first of
-- the others ends its rest. Each proxy has a learned rate (`proxy_health.py`), enforced like the site's rate. A proxy
-- that gets one request at a time waits for the response, args.proxy_one_at_a_time milliseconds at most.
local proxies, resting = nil, nil
if args.proxies then
  local names = {}
  for index, proxy in ipairs(args.proxies) do names[index] = proxy[1] end
  local healths, frees = read_all(key('proxies'), names), read_all(key('proxies:free_at'), names)
  local used_at = read_all(key('proxies:used_at'), names)
  local tier
  proxies = {}
  for index, proxy in ipairs(args.proxies) do
    local health = read_json(healths[index])
    local ends = number(health['until'])
    if ends > now + args.ahead then
      resting = math.min(resting or ends, ends)
    else
      if not tier or proxy[2] < tier then proxies, tier = {}, proxy[2] end
      if proxy[2] == tier then
        local alone = health.alone ~= false
        local response_by = alone and number(used_at[index]) + args.proxy_one_at_a_time or 0
        proxies[#proxies + 1] = {name = proxy[1], free = math.max(ends, response_by, number(frees[index])),
                             interval = 1000 / (number(health.rate) > 0 and number(health.rate) or args.proxy_rate), alone = alone}
      end
    end
  end
end

-- The proxy that is free first.
local function next_proxy()
  local best
  for _, proxy in ipairs(proxies) do
    if not best or proxy.free < best.free then best = proxy end
  end
  return best
end

-- When the next request may be sent, by the algorithm GCRA. The spacing is the interval plus a random part of it.
local function next_slot()
  local at, proxy = math.max(now, blocked, free - (args.burst - 1) * interval), nil
  if proxies then
    proxy = next_proxy()
    if not proxy then return nil, math.max(at, resting or now + args.ahead) end
    at = math.max(at, proxy.free)
  end
  if at - now > args.ahead then return nil, at end
  return at, nil, proxy
end

-- The send slots of up to `most` requests, the proxy of each, and when the site is free after each; `later` is when the
-- next slot would be. The random part of an interval comes from the number of the grant: a script has to do the same on a
-- replica.
local counted = interval > 0 or proxies
local grants = counted and number(redis.call('GET', key('grants')))
local function part_of(number) return (number * 7919 % 1000) / 1000 end
local function slots(most)
  local slot_times, after, used_proxies, later, was = {}, {[0] = free}, {}, nil, free
  while #slot_times < most do
    local at, proxy
    at, later, proxy = next_slot()
    if not at then break end
    local part = counted and part_of(grants + #slot_times + 1)
    if interval > 0 then free = math.max(at, free) + interval + interval * args.jitter * part end
    slot_times[#slot_times + 1] = at
    after[#slot_times] = free
    if proxy then
      local free_at = at + proxy.interval * (1 + args.proxy_jitter * part)
      used_proxies[#slot_times] = {proxy.name, free_at, at}
      proxy.free = proxy.alone and at + args.proxy_one_at_a_time or free_at
    end
  end
  free = was
  return slot_times, after, used_proxies, later
end

-- Leases the first requests of `place`, as many as may be sent. Returns how many, and whether one had no body, so that
-- another can take its send slot.
local function lease(place, most)
  local slot_times, after, used_proxies, later = slots(math.min(most, redis.call('ZCARD', place)))
  if later then reply[2] = later end
  if #slot_times == 0 then return 0, false end
  local ids, popped = {}, redis.call('ZPOPMIN', place, #slot_times)
  for index = 1, #popped, 2 do ids[#ids + 1] = popped[index] end
  local bodies, tries = read_all(REQUESTS, ids), read_all(TRIES, ids)
  local token = advance(key('tokens'), #ids)
  local leased, leases, sent, free_at, used_at = {}, {}, {}, {}, {}
  for index, id in ipairs(ids) do
    local head = head_from(bodies[index])
    if head and has_marks and (removed[head.job] or paused[head.job]) then
      put_away({id}, {head})
    elseif head then
      leased[#leased + 1] = id
      local at = slot_times[#leased]
      token = token + 1
      leases[#leases + 1] = id
      leases[#leases + 1] = token .. ':' .. args.worker
      sent[#sent + 1] = at
      sent[#sent + 1] = id
      local proxy = used_proxies[#leased] or {''}
      free_at[#free_at + 1], free_at[#free_at + 2] = proxy[1], proxy[2]
      used_at[#used_at + 1], used_at[#used_at + 2] = proxy[1], proxy[3]
      reply[#reply + 1] = {id, tostring(token), at, number(tries[index]), head.priority, head.job, head.stage,
                           head.payload, proxy[1]}
    end
  end
  free = after[#leased]
  if counted then grants = advance(key('grants'), #leased) + #leased end
  if proxies then
    all('HSET', key('proxies:free_at'), free_at)
    all('HSET', key('proxies:used_at'), used_at)
  end
  all('HSET', LEASES, leases)
  all('ZADD', INFLIGHT, sent)
  all('SADD', held, leased)
  return #leased, #leased < #ids
end

-- Nothing wakes a worker when it holds no more requests: it asks again after this many milliseconds.
local SUSPECT_WAIT = 250

-- A suspect is leased to a worker that holds nothing, and that gets nothing else until the suspect is settled.
if redis.call('EXISTS', CRASHES) == 1 then
  for _, crashes in pairs(read_all(CRASHES, redis.call('SMEMBERS', held))) do
    if crashes then
      reply[2] = now + SUSPECT_WAIT
      return reply
    end
  end
end
-- One worker at a time takes nothing new until it holds nothing; otherwise suspects would wait for all other work.
local suspected = redis.call('ZCARD', SUSPECTS) > 0
if suspected and redis.call('SCARD', held) > 0 then
  redis.call('SET', key('suspect_worker'), args.worker, 'NX', 'PX', args.lease)
  if redis.call('GET', key('suspect_worker')) == args.worker then
    reply[2] = now + SUSPECT_WAIT
    return reply
  end
end
if suspected and redis.call('SCARD', held) == 0 then
  redis.call('DEL', key('suspect_worker'))
  lease(SUSPECTS, 1)
else
  local is_clear = not has_marks or clear_head()
  local lost = is_clear
  while lost do
    local leased
    leased, lost = lease(READY, most)
    most = most - leased
    lost = lost and most > 0
  end
  if not is_clear then reply[2] = now end -- the rest of the marked requests at the next call
end
if interval > 0 then redis.call('HSET', RATE_LIMIT, 'free_at', free) end

if reply[2] == -1 and redis.call('ZCARD', SUSPECTS) > 0 then reply[2] = now + SUSPECT_WAIT end
if reply[2] == -1 then
  local due = redis.call('ZRANGE', DELAYED, 0, 0, 'WITHSCORES')
  if due[2] then reply[2] = number(due[2]) end
end
-- Ask again when the first worker would count as dead: nothing wakes the others then.
local silent = number(redis.call('ZRANGE', WORKERS, 0, 0, 'WITHSCORES')[2])
silent = math.max(silent + 1, number(redis.call('GET', key('grace_until'))))
if reply[2] == -1 or silent < reply[2] then reply[2] = silent end
return reply
