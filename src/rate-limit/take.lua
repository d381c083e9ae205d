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
  local bucket = redis.call('HMGET', key, 'units', 'at')
  if bucket[1] and bucket[2] then
    local elapsed = math.min(math.max(now - tonumber(bucket[2]), 0), UNITS_PER_TOKEN)
    units = math.min(capacity, tonumber(bucket[1]) + elapsed * limit)
  end

  local given = math.min(wanted, math.floor(units / UNITS_PER_TOKEN))
  units = units - given * UNITS_PER_TOKEN

  local text = string.format('%.0f', units)
  if wanted > 0 then
    redis.call('HSET', key, 'units', text, 'at', stamp)
    -- The key goes when the bucket would be full again: an absent bucket is a full one.
    redis.call('PEXPIRE', key, math.max(1, math.ceil((capacity - units) / limit / 1000)))
  end
  answer[2 * i] = given
  answer[2 * i + 1] = text
end
return answer
