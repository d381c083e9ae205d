-- Takes tokens from buckets. KEYS[i] is a bucket, ARGV[2i-1] its capacity and refill in requests a minute, ARGV[2i] how
-- many tokens are wanted (0: just look). The algorithm and its units are those of bucket.ts. Redis's clock decides, so
-- that all instances share one.
-- Answers the time in microseconds, then for each bucket how many tokens it gave and the units left.
local UNITS_PER_TOKEN = 60000000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
-- %.0f: Redis would otherwise shorten numbers of this size.
local stamp = string.format('%.0f', now)
local answer = { stamp }

for i, key in ipairs(KEYS) do
  local limit = tonumber(ARGV[2 * i - 1])
  local wanted = tonumber(ARGV[2 * i])
  local capacity = limit * UNITS_PER_TOKEN

  local units = capacity
  local bucket = redis.pcall('HMGET', key, 'units', 'at', 'limit')
  -- Something else is kept by this name: it goes, before it fails all the buckets that are asked for together.
  if bucket.err then redis.call('DEL', key) end
  if bucket[1] and bucket[2] then
    local elapsed = math.min(math.max(now - tonumber(bucket[2]), 0), UNITS_PER_TOKEN)
    local rate = math.max(limit, tonumber(bucket[3]) or 0)
    units = math.min(capacity, tonumber(bucket[1]) + elapsed * rate)
  end

  local given = math.min(wanted, math.floor(units / UNITS_PER_TOKEN))
  units = units - given * UNITS_PER_TOKEN

  local text = string.format('%.0f', units)
  if wanted > 0 then
    redis.call('HSET', key, 'units', text, 'at', stamp, 'limit', limit)
    -- A minute fills any bucket, whatever its limit: an absent one is full. Not sooner: a bucket that is full by its
    -- limit of now keeps just these tokens when the limit is raised.
    redis.call('PEXPIRE', key, 60000)
  end
  answer[2 * i] = given
  answer[2 * i + 1] = text
end
return answer
