-- Takes tokens from buckets. KEYS are the buckets. ARGV[1] has a double for each: its capacity and refill in requests a minute. ARGV[2] has
-- three doubles for each request: the places in KEYS of the buckets that it wants a token of, 0 for none. In their order it gets one of
-- each, or none of any. The algorithm and its units are those of bucket.ts. Redis's clock decides, so that all instances share one.
-- Answers doubles: the time in microseconds, then the units that each bucket held. Doubles hold these whole numbers exactly,
-- and cost half of what text does.
-- A bucket is kept as three doubles: units, time and limit.
local call, pack, unpack_doubles = redis.call, struct.pack, struct.unpack
local min, max = math.min, math.max
local UNITS_PER_TOKEN = 60000000
local BUCKET_BYTES = 24
-- A minute fills any bucket, whatever its limit: an absent one is full. Not sooner: a bucket that is full by its limit of now
-- keeps just these tokens when the limit is raised.
local TTL_MS = '60000'

local time = call('TIME')
local now = time[1] * 1000000 + time[2]
-- Keys of other types read as absent, and are overwritten.
local buckets = call('MGET', unpack(KEYS))
local held, left, limits = {}, { [0] = math.huge }, {}
local position = 1
for i, key in ipairs(KEYS) do
  local limit
  limit, position = unpack_doubles('<d', ARGV[1], position)
  local units = limit * UNITS_PER_TOKEN
  local bucket = buckets[i]
  if bucket and #bucket == BUCKET_BYTES then
    local units_then, at, limit_then = unpack_doubles('<ddd', bucket)
    local elapsed = min(max(now - at, 0), UNITS_PER_TOKEN)
    units = min(units, units_then + elapsed * max(limit, limit_then))
  end
  held[i], left[i], limits[i] = units, units, limit
end
position = 1
while position <= #ARGV[2] do
  local a, b, c
  a, b, c, position = unpack_doubles('<ddd', ARGV[2], position)
  if min(left[a], left[b], left[c]) >= UNITS_PER_TOKEN then
    left[a], left[b], left[c] = left[a] - UNITS_PER_TOKEN, left[b] - UNITS_PER_TOKEN, left[c] - UNITS_PER_TOKEN
  end
end
for i, key in ipairs(KEYS) do
  call('SET', key, pack('<ddd', left[i], now, limits[i]), 'PX', TTL_MS)
end
return pack('<d' .. string.rep('d', #held), now, unpack(held))
