-- Takes a token from the bucket KEYS[1], whose capacity and refill are ARGV[1] requests a minute. The algorithm and its
-- units are those of bucket.ts. Redis's clock decides, so that all instances share one.
-- Answers {admitted 0|1, units left, now in microseconds}.
local UNITS_PER_TOKEN = 60000000
local limit = tonumber(ARGV[1])
local capacity = limit * UNITS_PER_TOKEN
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local units = capacity
local bucket = redis.call('HMGET', KEYS[1], 'units', 'at')
if bucket[1] and bucket[2] then
  local elapsed = math.min(math.max(now - tonumber(bucket[2]), 0), UNITS_PER_TOKEN)
  units = math.min(capacity, tonumber(bucket[1]) + elapsed * limit)
end

local admitted = 0
if units >= UNITS_PER_TOKEN then
  admitted = 1
  units = units - UNITS_PER_TOKEN
end

-- %.0f: Redis would otherwise shorten numbers of this size. The key goes when the bucket would be full again.
local text = string.format('%.0f', units)
local stamp = string.format('%.0f', now)
redis.call('HSET', KEYS[1], 'units', text, 'at', stamp)
redis.call('PEXPIRE', KEYS[1], math.max(1, math.ceil((capacity - units) / limit / 1000)))
return { admitted, text, stamp }
