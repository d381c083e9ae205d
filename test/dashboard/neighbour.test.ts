import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { storeRecord } from '../support/records.ts';
import {
  createCaller,
  createTestEnvironment,
  type ServiceProcess,
  spawnService,
} from '../support/service.ts';
import { pageRequest, startCrowd } from './crowd.ts';
import { createVisitor, signUp } from './visitor.ts';

const NIF = '509442013';
/** Longer than a key's answer is remembered: each key has to be looked up again in that time. */
const ATTACK_MS = 6000;

let environment: Awaited<ReturnType<typeof createTestEnvironment>>;
let sql: Sql;
let service: ServiceProcess;
beforeAll(async () => {
  environment = await createTestEnvironment({
    env: { TRUST_PROXY: '127.0.0.1', AUTH_SECRET: 'x'.repeat(40), SIGN_UP: 'open' },
  });
  sql = connectPostgres(environment.database.url, { max: 2 });
  service = await spawnService(environment.env);
  await storeRecord(sql, NIF, 'Nexperience Lda');
});
afterAll(async () => {
  await service.kill();
  await sql.end({ timeout: 1 });
  await environment.remove();
}, 30_000);

test('one account with 600 forms in flight and 50 overviews a second costs nobody else an answer or a page', async () => {
  const visitor = createVisitor(service.baseUrl);
  await signUp(visitor);
  const page = await visitor.get('/dashboard/keys');
  const form_token = page.document.querySelector('input[name=form_token]')!.getAttribute('value')!;
  const other = createVisitor(service.baseUrl);
  await signUp(other);
  const callers = await Promise.all(
    Array.from({ length: 4 }, () =>
      createCaller(sql, { limits: { requestsPerMinute: 100_000 }, included: 1_000_000 }),
    ),
  );

  const address = { hostname: '127.0.0.1', port: Number(new URL(service.baseUrl).port) };
  const form = pageRequest(address, visitor.cookies, 'POST', '/dashboard/keys', { name: 'x', form_token });
  const crowd = await startCrowd({ ...address, connections: 600, request: form });
  const overviews = setInterval(() => void visitor.get('/dashboard').catch(() => {}), 20);
  const statuses: Record<number, number> = {};
  const pages: Record<number, number> = {};
  const endMs = performance.now() + ATTACK_MS;
  try {
    await Promise.all([
      (async () => {
        while (performance.now() < endMs) {
          const { status } = await other.get('/dashboard');
          pages[status] = (pages[status] ?? 0) + 1;
          await Bun.sleep(500);
        }
      })(),
      ...callers.map(async ({ key }) => {
        while (performance.now() < endMs) {
          for (const path of ['/usage', `/companies/${NIF}`]) {
            const answer = await fetch(service.url + path, { headers: { Authorization: `Bearer ${key}` } });
            await answer.arrayBuffer();
            statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
          }
        }
      }),
    ]);
  } finally {
    clearInterval(overviews);
    crowd.stop();
  }
  const failed = ({ route, status }: Record<string, unknown>) =>
    String(route).startsWith('/api/') && Number(status) >= 500;
  expect(service.logLines.filter(failed)).toEqual([]);
  expect(Object.keys(statuses)).toEqual(['200']);
  expect(Object.keys(pages)).toEqual(['200']);
  // The crowd was there all the time: it was refused, and came again.
  expect((crowd.answers[503] ?? 0) + (crowd.answers[429] ?? 0)).toBeGreaterThan(600);
}, 30_000);
