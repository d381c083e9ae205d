/**
 * The obvious metered service, to compare ours with: each lookup sends one statement after the other. Authentication, a bucket in
 * Redis, a durable charge with a row of a journal, and the record. It has no cache, no batches, no refunds and no budgets of keys.
 *
 * In TypeScript on Bun, with the clients and the tables of the service, so that anybody with this repository can run it, and a
 * difference is one of design, not of language.
 */
import Redis from 'ioredis';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';

/** About as many connections as an instance of the service has. */
const sql = connectPostgres(process.env.DATABASE_URL!, { max: 32 });
const redis = new Redis(process.env.REDIS_URL!);

await sql`
  CREATE TABLE IF NOT EXISTS obvious_journal (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(), account_id text NOT NULL, key_id text NOT NULL, credits bigint NOT NULL)`;

async function lookUp(request: Request, nif: string): Promise<Response> {
  const secret = request.headers.get('Authorization')?.slice('Bearer '.length) ?? '';
  const [key] = await sql<{ id: string; accountId: string; requestsPerMinute: number }[]>`
    SELECT k.id, a.id AS "accountId", coalesce(a.requests_per_minute, plans.requests_per_minute) AS "requestsPerMinute"
    FROM api_keys k JOIN accounts a ON a.id = k.account_id JOIN counters c ON c.id = a.id JOIN plans ON plans.name = c.plan
    WHERE k.secret_sha256 = ${new Bun.CryptoHasher('sha256').update(secret).digest()}
      AND now() < k.ends_at AND a.suspended_at IS NULL`;
  if (key === undefined) return refuse(401);

  const bucket = `obvious:${key.accountId}:${Math.floor(Date.now() / 60_000)}`;
  const [taken] = (await redis.multi().incr(bucket).expire(bucket, 60).exec())!;
  if ((taken![1] as number) > key.requestsPerMinute) return refuse(429);

  const [entry] = await sql`
    WITH paid AS (
      UPDATE counters SET used = used + 1
      WHERE id = ${key.accountId} AND now() < period_end AND used < included_credits
      RETURNING id AS account_id
    )
    INSERT INTO obvious_journal (account_id, key_id, credits) SELECT account_id, ${key.id}, 1 FROM paid RETURNING id`;
  if (entry === undefined) return refuse(429);

  const [company] = await sql<{ text: string }[]>`
    SELECT json_build_object('nif', c.nif, 'details', c.details, 'source', c.source, 'fetched_at', c.fetched_at,
      'debts', (SELECT json_agg(debts) FROM debts WHERE debts.nif = c.nif))::text AS text
    FROM companies c WHERE c.nif = ${nif}`;
  if (company === undefined) return refuse(404);
  return new Response(`{"data":${company.text},"error":null}`, {
    headers: { 'Content-Type': 'application/json' },
  });
}

const refuse = (status: number) => Response.json({ data: null, error: status }, { status });

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT),
  routes: {
    '/health/live': new Response('ok'),
    '/api/v1/companies/:nif': (request) => lookUp(request, request.params.nif),
  },
});
