import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { networkOf } from '../../../src/dashboard/request/client-address.ts';
import { createRequestLimit } from '../../../src/dashboard/request/request-limit.ts';
import { createProcessRateLimiter } from '../../../src/metering/rate-limit/process.ts';
import { call } from '../../support/client.ts';
import type { TestService } from '../../support/service.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createVisitor, makeKey } from '../visitor.ts';

function setUp() {
  let nowMs = 1000;
  const rateLimiter = createProcessRateLimiter(() => nowMs * 1000);
  const limit = createRequestLimit(rateLimiter, () => nowMs);
  const client = (knownUser: string | null, address = '192.0.2.1') => ({
    cookie: null,
    knownUser,
    address,
    isShared: false,
    language: 'en' as const,
    userAgent: null,
  });
  const takeAll = async (of: ReturnType<typeof client>, userId: string | null) => {
    let taken = 0;
    while (await limit.take(of, userId)) taken += 1;
    return taken;
  };
  return { limit, client, takeAll, pass: (ms: number) => (nowMs += ms) };
}

describe('the buckets', () => {
  test('a member has 120 requests, from all browsers together, and two a second after that', async () => {
    const { limit, client, takeAll, pass } = setUp();
    expect(await takeAll(client('maria'), 'maria')).toBe(120);
    const second = client('maria', '192.0.2.2');
    expect(await limit.take(second, 'maria')).toBe(false);
    expect(await limit.take(client('rui', '192.0.2.2'), 'rui')).toBe(true);
    pass(500);
    expect(await limit.take(second, 'maria')).toBe(true);
    expect(await limit.take(second, 'maria')).toBe(false);
  });

  test('a client that was refused is paused for five seconds, wherever it is', async () => {
    const { limit, client, takeAll, pass } = setUp();
    const refused = client('maria');
    expect(limit.isPaused(refused)).toBe(false);
    await takeAll(refused, 'maria');
    expect(limit.isPaused(client('maria', '192.0.2.9'))).toBe(true);
    expect(limit.isPaused(client('rui'))).toBe(false);
    expect(limit.isPaused(client(null))).toBe(false);
    pass(4999);
    expect(limit.isPaused(refused)).toBe(true);
    pass(1);
    expect(limit.isPaused(refused)).toBe(false);
    expect(await limit.take(refused, 'maria')).toBe(true);
  });

  test('a session that leaves out the cookie of its browser pauses no visitor of its network', async () => {
    const { limit, client, takeAll } = setUp();
    expect(await takeAll(client(null), 'maria')).toBe(120);
    expect(limit.isPaused(client(null))).toBe(false);
  });

  test('a browser whose session has ended has the tokens of a visitor for itself; its user and other visitors keep theirs', async () => {
    const { limit, client, takeAll } = setUp();
    expect(await takeAll(client('maria'), null)).toBe(300);
    expect(await limit.take(client(null), null)).toBe(true);
    const { limit: other, takeAll: takeOthers } = setUp();
    await takeOthers(client('maria'), null);
    expect(other.isPaused(client('maria'))).toBe(true);
    expect(other.isPaused(client('maria', '192.0.2.9'))).toBe(false);
    expect(other.isPaused(client('rui'))).toBe(false);
    expect(other.isPaused(client(null))).toBe(false);
    expect(await other.take(client('maria', '192.0.2.9'), 'maria')).toBe(true);
  });

  test('a session in the browser of another user pauses that browser alone', async () => {
    const { limit, client, takeAll } = setUp();
    expect(await takeAll(client('maria'), 'rui')).toBe(120);
    expect(limit.isPaused(client('maria'))).toBe(true);
    expect(limit.isPaused(client('maria', '192.0.2.9'))).toBe(false);
    expect(limit.isPaused(client('rui'))).toBe(false);
  });

  test('visitors share 300 requests an address, an IPv6 /64 counting as one', async () => {
    const { limit, client, takeAll } = setUp();
    expect(await takeAll(client(null, '2001:db8:1:2::1'), null)).toBe(300);
    expect(await limit.take(client(null, '2001:db8:1:2:ffff::7'), null)).toBe(false);
    expect(limit.isPaused(client(null, '2001:db8:1:2::9'))).toBe(true);
    expect(await limit.take(client(null, '2001:db8:1:3::1'), null)).toBe(true);
  });

  test('networks', () => {
    for (const [address, network] of [
      ['192.0.2.1', '192.0.2.1'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:0DB8:0001::', '2001:db8:1:0::/64'],
      ['::1', '0:0:0:0::/64'],
      ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ] as const)
      expect([address, networkOf(address)]).toEqual([address, network]);
    expect(networkOf('2001:db8:1:2::5', 48)).toBe('2001:db8:1::/48');
    expect(networkOf('192.0.2.1', 48)).toBe('192.0.2.1');
  });
});

describe('over HTTP', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startDashboardService();
  });
  afterAll(() => service.stop());

  test('a member who asks for too many pages is told to wait; other members and the API bucket are not touched', async () => {
    const [visitor, other] = [createVisitor(service.baseUrl), createVisitor(service.baseUrl)];
    await createMember(service, { visitor });
    await createMember(service, { visitor: other });
    let answer = await visitor.get('/dashboard/settings/name');
    for (let count = 0; count < 200 && answer.status === 200; count += 1) {
      answer = await visitor.get('/dashboard/settings/name');
    }
    expect([answer.status, answer.textOf('h1'), answer.headers.get('retry-after')]).toEqual([
      429,
      'Too many requests',
      '5',
    ]);
    const form = await visitor.post('/dashboard/keys', { name: 'x' });
    expect([form.status, form.headers.get('cache-control')]).toEqual([429, 'private, no-store']);
    // The form was not read, so the page can't hold it.
    expect([form.document.querySelector('form'), form.textOf('main')]).toEqual([
      null,
      expect.stringContaining('Reload this page to send the form again.'),
    ]);
    expect((await other.get('/dashboard')).status).toBe(200);
    const { body } = await call(service.url, '/usage', { key: await makeKey(other) });
    expect(body.data.rateLimit.remaining).toBe(19);
  });

  test('visitors of one address who ask too often are told to wait; those of another are not', async () => {
    const visitor = createVisitor(service.baseUrl);
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const seen = new Set<number>();
        for (let count = 0; count < 40 && !seen.has(429); count += 1) {
          seen.add((await visitor.get('/dashboard/sign-in')).status);
        }
        return seen;
      }),
    );
    expect(statuses.some((seen) => seen.has(429))).toBe(true);
    expect((await createVisitor(service.baseUrl).get('/dashboard/sign-in')).status).toBe(200);
  });
});
