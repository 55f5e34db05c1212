-- What every script begins with. KEYS[1] is the portal's prefix "{portal}:", ARGV[1] a msgpack of its arguments.
-- Time is Redis' own, in milliseconds.

local args = cmsgpack.unpack(ARGV[1])
local function key(name) return KEYS[1] .. name end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local REQUESTS, READY, DELAYED, INFLIGHT = key('requests'), key('ready'), key('delayed'), key('inflight')
local LEASES, WORKERS, SUSPECTS, DEAD = key('leases'), key('workers'), key('suspects'), key('dead')
local TRIES, CRASHES, PACE, LETTERS = key('tries'), key('crashes'), key('pace'), key('letters')

-- A stored request: what the scripts need of it, then the request itself, which only Python reads.
local function pack_request(priority, seq, job, stage, payload)
  return cmsgpack.pack(priority, seq, job, stage) .. payload
end

local function head_of(id)
  local stored = redis.call('HGET', REQUESTS, id)
  if not stored then return nil end
  local offset, priority, seq, job, stage = cmsgpack.unpack_limit(stored, 4)
  return {priority = priority, seq = seq, job = job, stage = stage,
          payload = offset == -1 and '' or string.sub(stored, offset + 1)}
end

-- Priority first, then the order of arrival: 2^42 arrivals fit between two priorities without loss in a double.
local function score(priority, seq) return -priority * 4398046511104 + seq end

local function count(job, stage, what)
  redis.call('HINCRBY', key('counts:' .. job), stage .. ':' .. what, 1)
end

-- Wakes one waiting worker; the list stays short, however much is pushed while nobody waits.
local function ring()
  if redis.call('LLEN', key('bell')) < 64 then redis.call('LPUSH', key('bell'), 1) end
end

-- False if the job has seen it. The fingerprint's 64 low bits are a member, its high bits choose the set.
local function enqueue(id, priority, job, stage, due, bucket, member, payload, keep)
  local seen = key('seen:' .. job .. ':' .. bucket)
  if redis.call('SADD', seen, member) == 0 then
    count(job, stage, 'duplicate')
    return false
  end
  if redis.call('SCARD', seen) == 1 then redis.call('EXPIRE', seen, keep) end
  local seq = redis.call('INCR', key('arrivals'))
  redis.call('HSET', REQUESTS, id, pack_request(priority, seq, job, stage, payload))
  redis.call('SADD', key('job:' .. job), id)
  redis.call('ZADD', key('jobs'), now, job)
  redis.call('EXPIRE', key('counts:' .. job), keep)
  count(job, stage, 'pushed')
  if due > now then
    redis.call('ZADD', DELAYED, due, id)
  else
    redis.call('ZADD', READY, score(priority, seq), id)
    ring()
  end
  return true
end

-- Takes an id out of wherever it is; its body stays.
local function take_out(id)
  redis.call('ZREM', READY, id)
  redis.call('ZREM', DELAYED, id)
  redis.call('ZREM', INFLIGHT, id)
  redis.call('ZREM', SUSPECTS, id)
  local lease = redis.call('HGET', LEASES, id)
  if lease then
    redis.call('SREM', key('held:' .. string.match(lease, ':(.*)')), id)
    redis.call('HDEL', LEASES, id)
  end
end

local function forget(id, head)
  take_out(id)
  redis.call('HDEL', REQUESTS, id)
  redis.call('HDEL', TRIES, id)
  redis.call('HDEL', CRASHES, id)
  redis.call('SREM', key('job:' .. head.job), id)
end

-- The body stays for a replay; the oldest letters make room for the newest.
local function bury(id, head, letter, keep)
  take_out(id)
  if head then
    redis.call('SREM', key('job:' .. head.job), id)
    count(head.job, head.stage, 'dead')
  end
  redis.call('HSET', LETTERS, id, letter)
  redis.call('ZADD', DEAD, now, id)
  local extra = redis.call('ZCARD', DEAD) - keep
  if extra > 0 then
    for _, old in ipairs(redis.call('ZRANGE', DEAD, 0, extra - 1)) do
      redis.call('ZREM', DEAD, old)
      redis.call('HDEL', LETTERS, old)
      redis.call('HDEL', REQUESTS, old)
      redis.call('HDEL', TRIES, old)
      redis.call('HDEL', CRASHES, old)
    end
  end
end

-- Back to its place among the ready. The lease's token stays valid until somebody else takes it.
local function give_back(id)
  local head = head_of(id)
  redis.call('ZREM', INFLIGHT, id)
  if head then
    redis.call('ZADD', READY, score(head.priority, head.seq), id)
    ring()
  end
end

-- The fleet hears of a worker. After a silence of all (Redis was away), nobody is taken for dead for one lease.
local function heard(worker, lease)
  local last = tonumber(redis.call('GET', key('pulse')) or now)
  if now - last > lease / 2 then
    redis.call('SET', key('mercy'), now + lease / 2)
  end
  redis.call('SET', key('pulse'), now)
  redis.call('ZADD', WORKERS, now + lease, worker)
end
