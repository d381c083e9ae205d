import { afterAll, expect, test } from 'bun:test';
import { scryptSync } from 'node:crypto';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { lockRow } from '../support/locks.ts';
import { storeRecord } from '../support/records.ts';
import { createCaller, createTestEnvironment, spawnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { pageRequest, startCrowd } from './crowd.ts';
import { createMember, createVisitor, formTokenOf, signUp } from './visitor.ts';

const NIF = '509442013';
const FORMS = 600;
/** The forms that the dashboard takes at once: two of one member in flight, and those that wait. */
const TAKEN = 2 + 200;

const environment = await createTestEnvironment({
  env: { TRUST_PROXY: '127.0.0.1', AUTH_SECRET: 'x'.repeat(40), SIGN_UP: 'open' },
});
const sql = connectPostgres(environment.database.url, { max: 2 });
const service = await spawnService(environment.env);
const parts = { baseUrl: service.baseUrl, sql, config: { authSecret: environment.env.AUTH_SECRET! } };
const address = { hostname: '127.0.0.1', port: Number(new URL(service.baseUrl).port) };
await storeRecord(sql, NIF, 'Nexperience Lda');
afterAll(async () => {
  await service.kill();
  await sql.end({ timeout: 1 });
  await environment.remove();
});

// The services that tests start in their own process have cheaper hashes (test/setup.ts).
test('a password is stored as scrypt with the full cost', async () => {
  const { email, password } = await signUp(createVisitor(service.baseUrl));
  const [stored] = await sql<{ hash: string }[]>`
    SELECT c."password" AS hash FROM dashboard_credentials c JOIN dashboard_users u ON u."id" = c."userId"
    WHERE u."email" = ${email}`;
  const [salt, key] = stored!.hash.split(':');
  const cost = { N: 16_384, r: 16, p: 1, maxmem: 64 * 1024 * 1024 };
  expect(key).toBe(scryptSync(password, salt!, 64, cost).toString('hex'));
});

test('one account with 600 forms in flight costs nobody else an answer or a page', async () => {
  const { visitor, accountId } = await createMember(parts);
  const form_token = await formTokenOf(visitor, '/dashboard/keys');
  const { visitor: other } = await createMember(parts);
  const request = pageRequest(address, visitor.cookies, 'POST', '/dashboard/keys', { name: 'x', form_token });

  for (let round = 0; round < 3; round += 1) {
    // A key that no instance has seen is looked up in Postgres.
    const { key } = await createCaller(sql);
    const lock = await lockRow(sql, accountId, 'accounts');
    const crowd = await startCrowd({ ...address, connections: FORMS, request, isRepeated: false });
    try {
      // Two forms wait for the lock, some for these two, and the rest are refused. Only then is the API asked, because this test is
      // about places and connections, not about the speed of the machine.
      const refused = () => (crowd.answers[503] ?? 0) + (crowd.answers[429] ?? 0);
      await until('the refusals', () => refused() >= FORMS - TAKEN);
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

/** A right sign-in from each of four addresses. */
async function signInsFromFour(): Promise<string[]> {
  const { email, password } = await signUp(createVisitor(service.baseUrl));
  return Promise.all(
    [0, 1, 2, 3].map(async (index) => {
      const from = `198.51.100.${index}`;
      const visitor = createVisitor(service.baseUrl, { address: from });
      const fields = { email, password, form_token: await formTokenOf(visitor) };
      return pageRequest({ ...address, from }, visitor.cookies, 'POST', '/dashboard/sign-in', fields);
    }),
  );
}

// The queue of pages would take all 48 of them, and answer each in time.
test('forms with a password take no page’s place: 26 of them fill a queue that only they wait in', async () => {
  const options = { ...address, connections: 12, isRepeated: false };
  const crowds = await Promise.all(
    (await signInsFromFour()).map((request) => startCrowd({ ...options, request })),
  );
  const answered = () =>
    crowds.flatMap(({ answers }) => Object.values(answers)).reduce((sum, n) => sum + n, 0);
  try {
    await until('all answers', () => answered() === 48);
    expect(crowds.some(({ answers }) => answers[503] !== undefined)).toBe(true);
  } finally {
    for (const crowd of crowds) crowd.stop();
  }
});

test('right sign-ins from four addresses, and sixty forms with a password, keep no member and no visitor from a page', async () => {
  const { visitor: other } = await createMember(parts);
  const requests = await signInsFromFour();
  for (let index = 0; index < 5; index += 1) {
    const visitor = createVisitor(service.baseUrl);
    const { password: present } = await signUp(visitor);
    const fields = { present, form_token: await formTokenOf(visitor, '/dashboard/settings') };
    const path = '/dashboard/settings/members/x/remove';
    requests.push(pageRequest(address, visitor.cookies, 'POST', path, fields));
  }
  const crowds = await Promise.all(
    requests.map((request) => startCrowd({ ...address, connections: 12, request })),
  );
  try {
    // Each connection sends again when it is answered, so the first round has as many forms in flight as any later one.
    for (let round = 0; round < 4; round += 1) {
      const pages = ['/dashboard', '/dashboard/settings'].map((path) => other.get(path));
      const signIn = createVisitor(service.baseUrl).get('/dashboard/sign-in');
      const answers = await Promise.all([...pages, signIn]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    }
  } finally {
    for (const crowd of crowds) crowd.stop();
  }
});
