import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ledgerOf } from '../credits/ledger.ts';
import { call } from '../support/client.ts';
import {
  createCaller,
  createTestEnvironment,
  type ServiceProcess,
  spawnService,
} from '../support/service.ts';

const LIMIT = { requestsPerMinute: 1_000_000 };
let environment: Awaited<ReturnType<typeof createTestEnvironment>>;
let instances: ServiceProcess[] = [];

beforeAll(async () => {
  environment = await createTestEnvironment({ mode: 'full' });
  instances = await Promise.all(Array.from({ length: 4 }, () => spawnService(environment.env)));
});
afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.kill()));
  await environment.remove();
});

/** So many requests at once to every instance: how many answers of each status and kind. */
async function hitAll(count: number, path: string, key: string): Promise<Record<string, number>> {
  const answers = await Promise.all(
    instances.flatMap(({ url }) => Array.from({ length: count }, () => call(url, path, { key }))),
  );
  const counts: Record<string, number> = {};
  for (const { status, kind } of answers) {
    const name = kind === null ? String(status) : `${status} ${kind}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

test('4 instances × 200 requests at once with 137 credits left: exactly 137 are admitted', async () => {
  const { sql } = environment.database;
  const { accountId, key } = await createCaller(sql, { included: 100, credits: 37, limits: LIMIT });
  expect(await hitAll(200, '/companies/1', key)).toEqual({
    '400 validation': 137,
    '429 monthly-quota-exceeded': 663,
  });
  expect(await ledgerOf(sql, accountId)).toEqual({ used: 137, credits: 0, calls: 137 });
});

test('4 instances × 25 requests at once share a bucket of 60', async () => {
  const { key } = await createCaller(environment.database.sql, { plan: 'plus' });
  const startMs = performance.now();
  const counts = await hitAll(25, '/usage', key);
  // A token comes every second. Of buckets of their own the instances would give all 100.
  const elapsedS = Math.ceil((performance.now() - startMs) / 1000);
  expect(counts['200']).toBeGreaterThanOrEqual(60);
  expect(counts['200']).toBeLessThanOrEqual(60 + elapsedS);
  expect((counts['200'] ?? 0) + (counts['429 rate-limit-exceeded'] ?? 0)).toBe(100);
});

test('kill -9 of one instance under load: every answered request is counted, and the others go on', async () => {
  const { sql } = environment.database;
  const { accountId, key } = await createCaller(sql, { included: 100_000, limits: LIMIT });
  const victim = instances.pop()!;
  const answered = { victim: 0, others: 0 };
  let killed = false;
  const load = [victim, ...instances].flatMap((instance) =>
    Array.from({ length: 10 }, async () => {
      while (!killed) {
        const headers = { Authorization: `Bearer ${key}` };
        const status = await fetch(`${instance.url}/companies/1`, { headers }).then(
          (response) => response.text().then(() => response.status),
          () => null,
        );
        if (status === 400) answered[instance === victim ? 'victim' : 'others'] += 1;
        else if (status !== null || instance !== victim) throw new Error(`answered ${status}`);
      }
    }),
  );
  while (answered.victim < 200) await Bun.sleep(5);
  const gone = victim.kill('SIGKILL');
  await Bun.sleep(100);
  killed = true;
  await Promise.all(load);
  expect(await gone).toBe('SIGKILL');
  const { used, calls } = await ledgerOf(sql, accountId);
  expect(used).toBeGreaterThanOrEqual(answered.victim + answered.others);
  expect(used).toBeLessThanOrEqual(answered.victim + answered.others + 10);
  expect(calls).toBe(used);
  expect((await call(instances[0]!.url, '/usage', { key })).body.data.quotas.requests.used).toBe(used);
});
