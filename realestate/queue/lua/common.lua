-- Every script begins with this file. KEYS[1] is the portal's prefix "{portal}:", ARGV[1] a msgpack of its arguments.
-- Times are Redis' time in milliseconds.

local args = cmsgpack.unpack(ARGV[1])
local function key(name) return KEYS[1] .. name end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local REQUESTS, READY, DELAYED, INFLIGHT = key('requests'), key('ready'), key('delayed'), key('inflight')
local LEASES, WORKERS, SUSPECTS, DEAD_LETTER_TIMES = key('leases'), key('workers'), key('suspects'), key('dead_letters:times')
local TRIES, CRASHES, RATE_LIMIT, DEAD_LETTERS = key('tries'), key('crashes'), key('rate_limit'), key('dead_letters')

-- Jobs that `status` can show: enough for weeks of a timetable.
local JOBS_KEEP = 1000

-- Somebody else may write into Redis. Whatever a value is, no script may fail on it: after an error the steps before it
-- stay done, and all workers would call the script again and fail again.

-- Numbers beyond this are nobody's: they could not be counted exactly.
local LARGEST = 9007199254740992
local function is_number(value) return type(value) == 'number' and value > -LARGEST and value < LARGEST end

-- The number in a text. If there is none: `default`, or 0.
local function number(text, default)
  local value = tonumber(text)
  if is_number(value) then return value end
  if default == nil then return 0 end
  return default
end

-- Adds `step` to a counter and returns its value before. A counter that holds no number begins with the time: above all
-- values that it can have had.
local function advance(name, step)
  local value = redis.pcall('INCRBY', name, step)
  if not is_number(value) then
    value = now + step
    redis.call('SET', name, value)
  end
  return value - step
end

-- Adds 1 to a field of a hash, and returns it.
local function increase(name, field)
  local value = number(redis.call('HGET', name, field)) + 1
  redis.call('HSET', name, field, value)
  return value
end

-- The worker of a lease, which is stored as token:worker.
local function worker_of(lease) return string.match(lease, ':(.*)') or '' end

-- A stored request: its head, which the scripts read, then the encoded request, which only Python reads.
local function pack_request(priority, seq, job, stage, payload)
  return cmsgpack.pack(priority, seq, job, stage) .. payload
end

local function head_from(stored)
  if not stored then return nil end
  local is_valid, offset, priority, seq, job, stage = pcall(cmsgpack.unpack_limit, stored, 4)
  if not (is_valid and is_number(priority) and is_number(seq) and type(job) == 'string' and type(stage) == 'string') then
    -- No request of ours. A worker leases it, sees by its first byte that it is none, and makes it a dead letter.
    return {priority = 0, seq = 0, job = 'none', stage = 'none', payload = '\0' .. stored}
  end
  return {priority = priority, seq = seq, job = job, stage = stage,
          payload = offset == -1 and '' or string.sub(stored, offset + 1)}
end

local function head_of(id) return head_from(redis.call('HGET', REQUESTS, id)) end

-- One command for a whole batch, in pieces that Lua's stack can hold; an even number, so that pairs stay together.
-- One command per batch instead of one per request makes most of the scripts' speed.
local PIECE = 1000

local function all(command, name, values)
  for first = 1, #values, PIECE do
    redis.call(command, name, unpack(values, first, math.min(first + PIECE - 1, #values)))
  end
end

local function read_all(name, ids)
  local found = {}
  for first = 1, #ids, PIECE do
    local last = math.min(first + PIECE - 1, #ids)
    local piece = redis.call('HMGET', name, unpack(ids, first, last))
    for offset = 1, last - first + 1 do found[first + offset - 1] = piece[offset] end
  end
  return found
end

-- Adds a value to the list of that name.
local function gather(lists, name, value)
  local list = lists[name]
  if not list then
    list = {}
    lists[name] = list
  end
  list[#list + 1] = value
end

-- Priority first, then the order of arrival: 2^42 arrivals fit between two priorities without loss in a double.
local function score(priority, seq) return -priority * 4398046511104 + seq end

-- Only a statistic: it does not matter if it cannot be counted.
local function count(job, stage, what, times)
  redis.pcall('HINCRBY', key('counts:' .. job), stage .. ':' .. what, times or 1)
end

-- Counts of a batch, summed: add(job, stage, what, times) as often as it happens, write() once.
local function tally()
  local sums = {}
  local function add(job, stage, what, times)
    times = times or 1
    local name = job .. '\n' .. stage .. '\n' .. what
    local sum = sums[name]
    if sum then
      sum.times = sum.times + times
    else
      sums[name] = {job = job, stage = stage, what = what, times = times}
    end
  end
  local function write()
    for _, sum in pairs(sums) do count(sum.job, sum.stage, sum.what, sum.times) end
  end
  return add, write
end

-- Wakes as many waiting workers as there are new requests. The list has at most 64 entries, also if no worker waits.
local function end_pause()
  redis.call('HDEL', RATE_LIMIT, 'paused', 'paused_reason', 'paused_by', 'paused_at', 'paused_until')
end

local function wake(times)
  local missing = math.min(times or 1, 64 - redis.call('LLEN', key('wake_ups')))
  for _ = 1, missing do redis.call('LPUSH', key('wake_ups'), 1) end
end

-- True if the job (with DUPEFILTER_SCOPE "portal": the portal) has not seen the fingerprint before. Its 64 low bits are
-- the member, its high bits choose the set. If times are kept too, the set is a hash of member -> seconds.
local function is_new(job, bucket, member)
  local seen = key('seen:' .. (args.seen.scope or job) .. ':' .. bucket)
  local added, size
  if args.seen.times then
    added = redis.call('HSET', seen, member, math.floor(now / 1000)) == 1
    size = added and redis.call('HLEN', seen)
  else
    added = redis.call('SADD', seen, member) == 1
    size = added and redis.call('SCARD', seen)
  end
  if size == 1 then redis.call('EXPIRE', seen, args.seen.keep) end
  return added
end

-- Jobs that were cancelled, by time: nothing of theirs is enqueued. Jobs whose requests are being removed: nothing of
-- theirs is leased. Jobs that are paused: their requests are set aside, each job's in a sorted set of its own.
local CANCELLED, REMOVED, PAUSED, ASIDE = key('cancelled_jobs'), key('removed_jobs'), key('paused_jobs'), key('aside_jobs')

-- Deletes requests that no worker holds. Most have no entry in the smaller lists, which often do not exist.
local function drop_all(ids)
  all('ZREM', READY, ids)
  all('HDEL', REQUESTS, ids)
  for _, place in ipairs({DELAYED, SUSPECTS}) do
    if redis.call('EXISTS', place) == 1 then all('ZREM', place, ids) end
  end
  for _, name in ipairs({TRIES, CRASHES}) do
    if redis.call('EXISTS', name) == 1 then all('HDEL', name, ids) end
  end
end

-- Cancels a job: one mark, whatever the length of the queue. `remove_job` then removes its requests in steps.
local function cancel(job, keep)
  redis.call('ZREMRANGEBYSCORE', CANCELLED, '-inf', now - keep * 1000)
  redis.call('ZADD', CANCELLED, 'NX', now, job)
  redis.call('SADD', REMOVED, job)
  redis.call('ZREM', key('deadlines'), job)
  redis.call('SREM', PAUSED, job)
end

-- Fails if a key has a wrong type, before anything is changed. Then the worker sets the key aside and calls again
-- (`RequestQueue.run`). Without this, what was taken out of one key before the error would be in none.
local function check_types()
  for _, name in ipairs({REQUESTS, LEASES, TRIES, CRASHES, DEAD_LETTERS}) do redis.call('HLEN', name) end
  for _, name in ipairs({READY, DELAYED, INFLIGHT, SUSPECTS, DEAD_LETTER_TIMES, CANCELLED}) do redis.call('ZCARD', name) end
  redis.call('ZCARD', key('jobs'))
  redis.call('LLEN', key('wake_ups'))
end

-- Enqueues new requests. Returns 1 for each that was new, else 0. Those of a cancelled job are not enqueued. Each request
-- is {id, priority, job, stage, due, bucket, member, payload}.
local function enqueue_all(requests)
  local results = {}
  if #requests == 0 then return results end
  local seq = advance(key('arrivals'), #requests)
  local bodies, ready, delayed, jobs = {}, {}, {}, {}
  local add, write = tally()
  local cancelled = {}
  for index, request in ipairs(requests) do
    local id, priority, job, stage, due = request[1], request[2], request[3], request[4], request[5]
    if cancelled[job] == nil then cancelled[job] = redis.call('ZSCORE', CANCELLED, job) and true or false end
    if cancelled[job] then
      results[index] = 0
    elseif not is_new(job, request[6], request[7]) then
      results[index] = 0
      add(job, stage, 'duplicate')
    else
      results[index] = 1
      add(job, stage, 'pushed')
      gather(jobs, job, id)
      bodies[#bodies + 1] = id
      bodies[#bodies + 1] = pack_request(priority, seq + index, job, stage, request[8])
      local place = due > now and delayed or ready
      place[#place + 1] = due > now and due or score(priority, seq + index)
      place[#place + 1] = id
    end
  end
  all('HSET', REQUESTS, bodies)
  all('ZADD', READY, ready)
  all('ZADD', DELAYED, delayed)
  write()
  for job, ids in pairs(jobs) do
    all('SADD', key('job:' .. job), ids)
    redis.call('ZADD', key('jobs'), now, job)
    redis.call('EXPIRE', key('counts:' .. job), args.seen.keep)
  end
  redis.call('ZREMRANGEBYRANK', key('jobs'), 0, -JOBS_KEEP - 1)
  if #ready > 0 then wake(#ready / 2) end
  return results
end

-- Removes an id from the lists it is in. Its body stays.
local function take_out(id)
  redis.call('ZREM', READY, id)
  redis.call('ZREM', DELAYED, id)
  redis.call('ZREM', INFLIGHT, id)
  redis.call('ZREM', SUSPECTS, id)
  local lease = redis.call('HGET', LEASES, id)
  if lease then
    redis.call('SREM', key('held:' .. worker_of(lease)), id)
    redis.call('HDEL', LEASES, id)
  end
end

-- Deletes requests that are done; `leases` are their leases and `heads` their heads.
local function delete_all(ids, leases, heads)
  local held, jobs = {}, {}
  for index, id in ipairs(ids) do
    gather(held, worker_of(leases[index]), id)
    gather(jobs, heads[index].job, id)
  end
  for _, place in ipairs({READY, DELAYED, INFLIGHT, SUSPECTS}) do all('ZREM', place, ids) end
  for _, name in ipairs({LEASES, REQUESTS, TRIES, CRASHES}) do all('HDEL', name, ids) end
  for worker, theirs in pairs(held) do all('SREM', key('held:' .. worker), theirs) end
  for job, its in pairs(jobs) do all('SREM', key('job:' .. job), its) end
end

-- Makes a request a dead letter. Its body is kept for a replay. The oldest dead letters make room for the newest.
local function add_dead_letter(id, head, dead_letter, keep)
  take_out(id)
  if head then
    redis.call('SREM', key('job:' .. head.job), id)
    count(head.job, head.stage, 'dead')
  end
  redis.call('HSET', DEAD_LETTERS, id, dead_letter)
  redis.call('ZADD', DEAD_LETTER_TIMES, now, id)
  local extra = redis.call('ZCARD', DEAD_LETTER_TIMES) - keep
  if extra > 0 then
    for _, old in ipairs(redis.call('ZRANGE', DEAD_LETTER_TIMES, 0, extra - 1)) do
      redis.call('ZREM', DEAD_LETTER_TIMES, old)
      redis.call('HDEL', DEAD_LETTERS, old)
      redis.call('HDEL', REQUESTS, old)
      redis.call('HDEL', TRIES, old)
      redis.call('HDEL', CRASHES, old)
    end
  end
end

-- Makes a request ready again, at its old place. The token of its lease stays valid until another worker leases it.
local function give_back(id)
  local head = head_of(id)
  redis.call('ZREM', INFLIGHT, id)
  if head then
    redis.call('ZADD', READY, score(head.priority, head.seq), id)
    wake()
  end
end

-- How long a script that must not be executed twice remembers its reply, in milliseconds.
local CALLS_KEEP = 300000

-- Executes `act` and returns its number. If the reply of the same call (args.call) was lost and it is sent again, the
-- first reply is returned, and nothing is executed.
local function once(act)
  local name = key('calls:' .. args.call)
  local before = redis.call('GET', name)
  if before then return number(before) end
  local result = act()
  redis.call('SET', name, result, 'PX', CALLS_KEEP)
  return result
end

-- Adds `step` milliseconds to the scores of a sorted set.
local function shift_scores(name, step)
  local entries, moved = redis.call('ZRANGE', name, 0, -1, 'WITHSCORES'), {}
  for index = 1, #entries, 2 do
    moved[index], moved[index + 1] = number(entries[index + 1]) + step, entries[index]
  end
  all('ZADD', name, moved)
end

-- Adds `step` milliseconds to fields of a hash that hold a time: to all of them, or to the named ones.
local function shift_fields(name, step, fields)
  for _, field in ipairs(fields or redis.call('HKEYS', name)) do
    local at = number(redis.call('HGET', name, field), false)
    if at then redis.call('HSET', name, field, at + step) end
  end
end

-- A clock that is set back by less than this is not worth a correction, in milliseconds.
local SMALL_STEP = 1000

-- Redis' clock was set back, or a replica whose clock is behind took over: what was due in a second would be due after
-- the whole step. All times that are waited for move with the clock.
local function follow_clock(last)
  local step = now - last
  if step > -SMALL_STEP then return end
  shift_scores(WORKERS, step)
  shift_scores(DELAYED, step)
  shift_scores(INFLIGHT, step)
  shift_fields(RATE_LIMIT, step, {'free_at', 'blocked_until', 'refused_at'})
  shift_fields(key('proxies:free_at'), step)
  shift_fields(key('proxies:used_at'), step)
  redis.call('DEL', key('grace_until'))
end

-- Records that a worker is alive. If no worker sent a heartbeat for long (Redis was down), none counts as dead during a
-- grace period.
local function keep_alive(worker, lease)
  local last = number(redis.call('GET', key('last_heartbeat')), now)
  follow_clock(last)
  if now - last > lease / 2 then
    redis.call('SET', key('grace_until'), now + lease / 2)
  end
  redis.call('SET', key('last_heartbeat'), now)
  redis.call('ZADD', WORKERS, now + lease, worker)
end
