import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connectPostgres, type Sql } from '../../src/postgres/connect.ts';
import { lockRow } from '../support/locks.ts';
import { storeRecord } from '../support/records.ts';
import {
  createCaller,
  createTestEnvironment,
  type ServiceProcess,
  spawnService,
} from '../support/service.ts';
import { until } from '../support/until.ts';
import { pageRequest, startCrowd } from './crowd.ts';
import { createVisitor, signUp } from './visitor.ts';

const NIF = '509442013';
const FORMS = 600;
/** The forms of one member that the dashboard takes at once. */
const MEMBERS_PLACES = 12;

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

test('one account with 600 forms in flight costs nobody else an answer or a page', async () => {
  const visitor = createVisitor(service.baseUrl);
  const { accountId } = await signUp(visitor);
  const page = await visitor.get('/dashboard/keys');
  const form_token = page.document.querySelector('input[name=form_token]')!.getAttribute('value')!;
  const other = createVisitor(service.baseUrl);
  await signUp(other);
  const address = { hostname: '127.0.0.1', port: Number(new URL(service.baseUrl).port) };
  const request = pageRequest(address, visitor.cookies, 'POST', '/dashboard/keys', { name: 'x', form_token });

  for (let round = 0; round < 3; round += 1) {
    // A key that no instance has seen is looked up in Postgres.
    const { key } = await createCaller(sql);
    const lock = await lockRow(sql, accountId, 'accounts');
    const crowd = await startCrowd({ ...address, connections: FORMS, request, isRepeated: false });
    try {
      // Some wait for the lock, and for those that do. The others are refused, before the API is asked: this is about places
      // and connections, and not about the speed of the machine (bench/dashboard-load.ts).
      const refused = () => (crowd.answers[503] ?? 0) + (crowd.answers[429] ?? 0);
      await until('the refusals', () => refused() >= FORMS - MEMBERS_PLACES);
      const answers = await Promise.all([
        other.get('/dashboard'),
        ...['/usage', `/companies/${NIF}`].map((path) =>
          fetch(service.url + path, { headers: { Authorization: `Bearer ${key}` } }),
        ),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    } finally {
      crowd.stop();
      await lock.release();
    }
  }
});
