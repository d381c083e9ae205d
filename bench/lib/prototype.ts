/**
 * The yardstick: the least that can meter a lookup. What arrives in one turn of the event loop shares one bucket script, one
 * `UPDATE` and one read. Its keys never run out, it keeps no journal and no log, and refuses nobody.
 */
import { Elysia } from 'elysia';
import { hashSecret } from '../../src/metering/keys/secret.ts';
import { connectRedis } from '../../src/metering/rate-limit/redis.ts';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { createBatcher } from '../../src/platform/runtime/batcher.ts';

const TAKE = `
  local now = redis.call('TIME')[1]
  local left = {}
  for i, key in ipairs(KEYS) do
    local bucket = redis.call('HMGET', key, 'tokens', 'at')
    local tokens = math.min(1e9, (tonumber(bucket[1]) or 1e9) + (now - (tonumber(bucket[2]) or now)) * 1e6)
    left[i] = tokens - ARGV[i]
    redis.call('HSET', key, 'tokens', left[i], 'at', now)
    redis.call('PEXPIRE', key, 60000)
  end
  return left`;

const sql = connectPostgres(process.env.DATABASE_URL!, { max: 4, pointQueries: true });
const redis = connectRedis(process.env.REDIS_URL!);
redis.defineCommand('takePrototype', { lua: TAKE });
const { takePrototype } = redis as unknown as {
  takePrototype(keys: number, ...args: (string | number)[]): Promise<number[]>;
};

await sql`CREATE TABLE IF NOT EXISTS prototype_balances (id text PRIMARY KEY, used bigint NOT NULL, credits bigint NOT NULL)`;
await sql`INSERT INTO prototype_balances SELECT id, 0, 1000000000 FROM accounts ON CONFLICT DO NOTHING`;
const keys = await sql<{ hash: string; accountId: string }[]>`
  SELECT encode(secret_sha256, 'base64') AS hash, account_id AS "accountId" FROM api_keys`;
const accounts = new Map(keys.map(({ hash, accountId }) => [hash, accountId]));

const BATCHES = { name: 'the prototype' };

/** How often each account is in a batch, by its id in order. */
function countsOf(accountIds: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of accountIds.toSorted()) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

const take = createBatcher(async (accountIds: string[]) => {
  const counts = countsOf(accountIds);
  await takePrototype.call(
    redis,
    counts.size,
    ...[...counts.keys()].map((id) => `prototype:${id}`),
    ...counts.values(),
  );
  return accountIds.map(() => true);
}, BATCHES);

const pay = createBatcher(async (accountIds: string[]) => {
  const counts = countsOf(accountIds);
  const paid = await sql<{ id: string }[]>`
    UPDATE prototype_balances b SET used = b.used + wanted.calls
    FROM unnest(${[...counts.keys()]}::text[], ${[...counts.values()]}::bigint[]) AS wanted (id, calls)
    WHERE b.id = wanted.id AND b.used + wanted.calls <= b.credits RETURNING b.id`;
  const ids = new Set(paid.map(({ id }) => id));
  return accountIds.map((id) => ids.has(id));
}, BATCHES);

const read = createBatcher(async (nifs: string[]) => {
  const rows = await sql<{ nif: string; details: string }[]>`
    SELECT nif, details::text AS details FROM companies
    WHERE nif = ANY (${nifs}::text[])`;
  const details = new Map(rows.map((row) => [row.nif, row.details]));
  return nifs.map((nif) => details.get(nif));
}, BATCHES);

const headers = new Headers({ 'Content-Type': 'application/json' });

new Elysia()
  .get('/health/live', () => 'ok')
  .get('/api/v1/companies/:nif', async ({ request, params }) => {
    const secret = request.headers.get('authorization')!.slice('Bearer '.length);
    const accountId = accounts.get(hashSecret(secret).toString('base64'));
    if (accountId === undefined) return new Response(null, { status: 401 });
    await take(accountId);
    const [isPaid, details] = await Promise.all([pay(accountId), read(params.nif)]);
    return isPaid ? new Response(details, { headers }) : new Response(null, { status: 429 });
  })
  .listen({ hostname: '127.0.0.1', port: Number(process.env.PORT) });
