/** The end of a service's process: killed, stopped, and restarted behind a balancer. */
import { afterAll, expect, spyOn, test } from 'bun:test';
import { connect } from 'node:net';
import { refundOwed } from '../../src/metering/credits/refund.ts';
import { MINUTE } from '../../src/platform/units.ts';
import { ledgerOf } from '../metering/credits/ledger.ts';
import { PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { requestText, sendRaw } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import { lockRow, waitingForLock } from '../support/locks.ts';
import '../support/modes.ts';
import { nifPtFound } from '../support/provider.ts';
import { startProxy } from '../support/proxy.ts';
import { stopClock } from '../support/stopped-clock.ts';
import { eventually, until } from '../support/until.ts';

const api = await startApi({ mode: 'full', directory: csv(1, 3) });
api.provider.answerAll((number) => nifPtFound(number));
const caller = await api.caller(PLENTY);
// Fails if any of the processes has left a connection to the database open.
afterAll(() => api.stop());

const look = (at: { url: string }, number: string) => ask(at, `/companies/${number}`, { key: caller.key });

test('kill -9 under load loses no credit of an answered request, and no record that was answered', async () => {
  const victim = await api.spawnInstance();
  await look(victim, nif(400));
  const before = (await api.ledger(caller)).used;
  const answered: string[] = [];
  let searches = 0;
  let sent = 0;
  let next = 401;
  let killed = false;
  const work = Array.from({ length: 20 }, async (_, worker) => {
    while (!killed) {
      try {
        sent += 1;
        if (worker % 2 === 0) {
          const number = nif(next++);
          const { status } = await look(victim, number);
          if (status === 200) answered.push(number);
        } else {
          const { status } = await ask(victim, '/companies?q=empresa', { key: caller.key });
          if (status === 200) searches += 1;
        }
      } catch {
        // The connection died with the process.
        if (!killed) throw new Error('it was cut off before it was killed');
      }
    }
  });
  await until('some work', () => answered.length >= 200 && searches >= 200);
  killed = true;
  await victim.kill('SIGKILL');
  await Promise.all(work);
  const counted = (await api.ledger(caller)).used - before;
  // Those that were under way may have been counted without an answer; never the other way round.
  expect(counted).toBeWithin(answered.length + searches, sent + 1);
  const stored = await api.sql<
    { nif: string }[]
  >`SELECT nif FROM companies WHERE nif = ANY (${answered}::text[])`;
  expect(stored).toHaveLength(answered.length);
  const calls = api.provider.lookups().length;
  expect((await look(api, answered.at(-1)!)).status).toBe(200);
  expect(api.provider.lookups()).toHaveLength(calls);
  // Usage on another instance says what the ledger does, once Postgres has ended the last statement of the process.
  await until('the same use', async () => {
    const { body } = await ask(api, '/usage', { key: caller.key });
    return body.data.quotas.requests.used === (await api.ledger(caller)).used;
  });
});

test.each(['SIGKILL', 'SIGTERM'] as const)(
  '%s behind 250 answers that gave their credits back costs none of them',
  async (signal) => {
    const victim = await api.spawnInstance();
    const { accountId, key } = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1000 });
    // No refresh can begin: a 503 that is known only after its charge.
    await api.sql.begin(async (locking) => {
      await locking`LOCK TABLE company_refreshes IN EXCLUSIVE MODE`;
      const asked = Array.from({ length: 250 }, (_, i) =>
        ask(victim, `/companies/${nif(1000 + i)}`, { key }),
      );
      for (const { status, headers } of await Promise.all(asked))
        expect([status, headers.get('X-Credits')]).toEqual([503, '0']);
      await victim.kill(signal);
    });
    expect(victim.logLines.filter(({ msg }) => msg.startsWith('credits may have been spent'))).toEqual([]);
    await refundOwed(api.sql);
    expect(await ledgerOf(api.sql, accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  },
);

test('a credit that may have been spent for a request answered 503 is logged and counted when the service stops without an answer', async () => {
  const { accountId, key } = await api.caller({ included: 10 });
  /** Stands between Postgres and the stopping instance only. If other instances hung too, the end of the test would hang. */
  const proxy = await startProxy(api.env.DATABASE_URL!);
  const service = await api.startInstance({ DATABASE_URL: proxy.url(api.env.DATABASE_URL!) });
  expect((await ask(service, '/usage', { key })).status).toBe(200);
  const lock = await lockRow(api.sql, accountId);
  const answer = ask(service, '/companies?q=empresa', { key });
  await waitingForLock(api.sql, 1);
  // The charge commits, and its answer is lost.
  proxy.hang();
  await lock.release();
  expect((await answer).status).toBe(503);
  const report = () => service.logLines.find(({ msg }) => msg.startsWith('credits may have been spent'));
  const clock = stopClock();
  const stopping = service.stop();
  try {
    await until('the stop', () => service.logLines.some(({ msg }) => msg === 'stopping'));
    clock.pass(MINUTE); // longer than a stop takes
    await until('the report of the credit', () => report() !== undefined);
  } finally {
    clock.restore();
  }
  // The ledger is read now, because a void that waits in the proxy returns the credit later.
  expect(await api.ledger({ accountId })).toEqual({ used: 1, credits: 0 });
  proxy.up();
  await stopping;
  await proxy.close();
  expect(report()).toMatchObject({
    msg: 'credits may have been spent for requests answered 503',
    attempts: [expect.any(String)],
    calls: { [accountId]: 1 },
  });
});

test('SIGTERM: what runs is finished, what was counted is written, new connections are refused, exit 0', async () => {
  const instance = await api.spawnInstance();
  const { accountId, key } = await api.caller();
  const fail = async (times: number) => {
    for (let time = 0; time < times; time += 1)
      expect((await ask(instance, '/companies', { key })).kind).toBe('validation');
  };
  const errors = async () => {
    const [row] =
      await api.sql`SELECT sum(calls)::bigint AS calls FROM key_counts WHERE account_id = ${accountId} AND is_error`;
    return row!.calls;
  };
  await fail(3);
  await eventually(errors, 3); // so many a kill would leave, too
  await fail(2);
  const number = nif(390);
  api.provider.hold();
  const running = look(instance, number);
  await until('the question', () => api.provider.lookups().some((request) => request.nif === number));
  const exited = instance.kill('SIGTERM');
  await until('the refusal', async () => {
    try {
      await sendRaw(instance, 'GET /health/live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    }
  });
  api.provider.release();
  const { status, body } = await running;
  expect([status, body.data.nif]).toEqual([200, Number(number)]);
  expect(await exited).toBe(0);
  expect(await errors()).toBe(5);
});

test('SIGINT: the same, and a connection that is kept open without a request does not hold it up', async () => {
  const instance = await api.spawnInstance();
  const socket = connect(Number(new URL(instance.baseUrl).port), '127.0.0.1');
  socket.on('error', () => {});
  await new Promise((resolve) => socket.on('connect', resolve));
  socket.write('GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  expect(await instance.kill('SIGINT')).toBe(0);
  socket.destroy();
  expect(instance.logLines.at(-1)).toMatchObject({ msg: 'stopping' });
});

test('SHUTDOWN_DELAY_S: until it is over a stopping instance is not ready, and answers as before', async () => {
  const { promise: isOver, resolve: endDelay } = Promise.withResolvers<void>();
  const { sleep } = Bun;
  using _delay = spyOn(Bun, 'sleep').mockImplementation((ms) => (ms === 7000 ? isOver : sleep(ms)));
  const instance = await api.startInstance({ SHUTDOWN_DELAY_S: '7' });
  const readiness = () => fetch(`${instance.baseUrl}/health/ready`).then(({ status }) => status);
  expect(await readiness()).toBe(200);
  const stopping = instance.stop();
  expect(await readiness()).toBe(503);
  const request = requestText(`GET /api/v1/companies/${nif(1)}`, { Authorization: `Bearer ${caller.key}` });
  for (let n = 0; n < 3; n += 1) expect(await sendRaw(instance, request)).toStartWith('HTTP/1.1 200');
  endDelay();
  await stopping;
  expect(await sendRaw(instance, request).catch(({ code }) => code)).toBe('ECONNREFUSED');
});
