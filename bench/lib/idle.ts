import { createCompanyReader } from '../../src/companies/lookup/store.ts';
import { createCredits } from '../../src/metering/credits/charge.ts';
import { connectRedis, createRedisRateLimiter } from '../../src/metering/rate-limit/redis.ts';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { generateCompany } from './names.ts';
import type { Service, Stack } from './stack.ts';

/** Medians in milliseconds, with one request at a time: the whole request, and the question to each dependency alone. */
export interface Idle {
  request: number;
  bucket: number;
  credit: number;
  record: number;
}

/** Of which each figure is the median. */
export const REQUESTS = 400;

/** Sends lookups through the service one after another, then asks its three questions from here with the same modules. */
export async function measureIdle(stack: Stack, service: Service): Promise<Idle> {
  const sql = connectPostgres(stack.environment.DATABASE_URL!, { max: 2, pointQueries: true });
  const redis = connectRedis(stack.environment.REDIS_URL!);
  await new Promise((resolve) => redis.once('ready', resolve));
  const [account] = await stack.sql<{ id: string }[]>`SELECT id FROM accounts LIMIT 1`;
  const limiter = createRedisRateLimiter(redis);
  const credits = createCredits(sql);
  const { findCompany } = createCompanyReader(sql, 6 * 86_400);
  const nif = (position: number) => generateCompany(position * 7).nif;
  const headers = { Authorization: `Bearer ${stack.keys[0]}` };
  try {
    return {
      request: await medianMs(async (position) => {
        const url = `http://${service.host}:${service.port}/api/v1/companies/${nif(position)}`;
        const response = await fetch(url, { headers });
        if (!response.ok) throw new Error(`the service answered ${response.status}`);
        await response.text();
      }),
      bucket: await medianMs(() => limiter.take(account!.id, 1_000_000)),
      credit: await medianMs(() =>
        credits.charge({ accountId: account!.id, keyId: '', kind: 'lookup', credits: 1 }),
      ),
      record: await medianMs((position) => findCompany(nif(position))),
    };
  } finally {
    redis.disconnect();
    await sql.end();
  }
}

async function medianMs(work: (position: number) => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let position = 0; position < REQUESTS; position += 1) {
    const startedMs = performance.now();
    await work(position);
    took.push(performance.now() - startedMs);
  }
  return took.sort((a, b) => a - b)[REQUESTS / 2]!;
}
