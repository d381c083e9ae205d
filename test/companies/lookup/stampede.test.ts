import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { type Instance, startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import type { CallAnswer } from '../../support/client.ts';
import { csv, nif } from '../../support/companies.ts';
import '../../support/modes.ts';
import { nifPtFound, nifPtNotFound } from '../../support/provider.ts';
import { DAY_S, setAge } from '../../support/records.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { eventually, until } from '../../support/until.ts';

const TIMEOUT_MS = 600;
const CROWD = 50;
const BOUND_MS = 2 * TIMEOUT_MS + 1000;

let next = 300;
const api = await startApi({
  mode: 'full',
  directory: csv(1, 3),
  env: { PROVIDER_TIMEOUT_MS: String(TIMEOUT_MS), REGISTRY: 'vies' },
});
const caller = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
afterEach(async () => {
  api.provider.release();
  // No company is known but those of `answer`.
  api.provider.answerAll(() => undefined);
  await api.provider.mode('normal');
});
afterAll(() => api.stop());

const look = (number: string, at: { url: string } = api) =>
  ask(at, `/companies/${number}`, { key: caller.key });
const asked = (number: string) => api.provider.lookups().filter((request) => request.nif === number).length;

/** Until no connection has a statement or a transaction under way. */
const untilIdle = () =>
  eventually(async () => {
    const busy = await api.sql`
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        AND state <> 'idle'`;
    return busy.length;
  }, 0);

/** A NIF with a stored record that is too old; the provider knows a new one. */
async function stale(): Promise<string> {
  const number = nif(next++);
  api.provider.answer(number, nifPtFound(number, { title: 'old' }));
  await look(number);
  await setAge(api.sql, number, 7 * DAY_S);
  api.provider.answer(number, nifPtFound(number, { title: 'new' }));
  return number;
}

describe('a stampede on one stale NIF', () => {
  let patient: Instance[];
  let marker: { key: string; nif: string };
  beforeAll(async () => {
    // The provider is held for as long as it takes a busy machine to send 50 requests.
    const env = { PROVIDER_TIMEOUT_MS: '10000' };
    patient = [await api.startInstance(env), await api.startInstance(env)];
    const { key } = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
    marker = { key, nif: nif(next++) };
    api.provider.answer(marker.nif, nifPtFound(marker.nif));
    for (const at of patient) await ask(at, `/companies/${marker.nif}`, { key });
  });

  /** Looks so many up and lets the provider answer when all of them wait for it. @returns what they were answered */
  async function stampede(number: string): Promise<CallAnswer[]> {
    const before = { asked: asked(number), used: (await api.ledger(caller)).used };
    api.provider.hold();
    const answers = Promise.all(
      Array.from({ length: CROWD }, (_, i) => look(number, patient[i % patient.length])),
    );
    await until('the question', () => asked(number) > before.asked);
    await until('the credits', async () => (await api.ledger(caller)).used === before.used + CROWD);
    // A lookup from the store is answered behind their reads. They ask for the lease then.
    for (let round = 0; round < 2; round += 1) {
      for (const at of patient) {
        const { status } = await ask(at, `/companies/${marker.nif}`, { key: marker.key });
        expect(status).toBe(200);
      }
    }
    await untilIdle();
    api.provider.release();
    return answers;
  }

  test('of 50 over two instances makes one call, and each of them costs its credit', async () => {
    const number = await stale();
    const before = (await api.ledger(caller)).used;
    const answers = await stampede(number);
    expect(answers.map(({ body }) => body.data.title)).toEqual(Array(CROWD).fill('new'));
    expect(asked(number)).toBe(2);
    expect((await api.ledger(caller)).used).toBe(before + CROWD);
  });

  // One call of nif.pt, and one of the registry where nif.pt could not tell.
  test.each([
    ['failure', { result: 'surprise' }, 'company-lookup-failed', 2],
    ['"not found"', nifPtNotFound(), 'company-not-found', 1],
  ])('shares a %s as well', async (_, answer, kind, calls) => {
    const number = nif(next++);
    api.provider.answer(number, answer);
    const answers = await stampede(number);
    expect(answers.map((each) => each.kind)).toEqual(Array(CROWD).fill(kind));
    expect(asked(number)).toBe(calls);
  });
});

// With a stopped clock a time-out is the source's, however late this process sees it on a busy machine.
describe('time', () => {
  test('a lookup answers within 2 × PROVIDER_TIMEOUT_MS + 1 s while both sources hang', async () => {
    const clock = stopClock();
    await api.provider.mode('hung');
    const { status, kind } = await look(nif(next++)).finally(clock.restore);
    expect([status, kind]).toEqual([502, 'company-lookup-failed']);
    await api.provider.mode('normal');
    expect((await look(nif(next++))).status).toBe(404);
  });

  test('so do 100 lookups of as many companies at once; those that found no connection free cost nothing', async () => {
    const instance = await api.startInstance();
    const { used } = await api.ledger(caller);
    await api.provider.mode('hung');
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => look(nif(next++), instance)));
    const ended = (kind: string) => outcomes.filter((outcome) => outcome.kind === kind).length;
    const [failed, refused] = [ended('company-lookup-failed'), ended('service-unavailable')];
    expect([failed + refused, refused > 0]).toEqual([100, true]);
    await eventually(async () => (await api.ledger(caller)).used, used + failed);
    await instance.stop();
  });

  test('those who come late to a refresh that hangs are answered within the bound too', async () => {
    const second = await api.startInstance();
    const number = nif(next++);
    const clock = stopClock();
    await api.provider.mode('hung');
    const first = look(number, api);
    await until('the question', () => asked(number) > 0);
    const later = [look(number, second), look(number, api), look(number, second)];
    const outcomes = await Promise.all([first, ...later]).finally(clock.restore);
    for (const { status } of outcomes) expect(status).toBe(502);
    expect(asked(number)).toBe(2);
  });

  test('100 lookups that wait for a hung provider delay no search, no usage and no stored record, and no connection', async () => {
    const instance = await api.startInstance({ PROVIDER_TIMEOUT_MS: '20000', REGISTRY: 'none' });
    const known = await stale();
    await look(known);
    await ask(instance, '/companies?q=empresa', { key: caller.key });
    const before = api.provider.lookups().length;
    api.provider.hold();
    let answered = 0;
    const lookups = Array.from({ length: 100 }, () =>
      look(nif(next++), instance).finally(() => {
        answered += 1;
      }),
    );
    await until('the questions', () => api.provider.lookups().length >= before + 20);
    for (let i = 0; i < 20; i++) {
      for (const path of [
        '/companies?q=empresa',
        `/companies?q=empresa%20${i}`,
        '/usage',
        `/companies/${known}`,
      ]) {
        const { status } = await ask(instance, path, { key: caller.key });
        expect([path, status]).toEqual([path, 200]);
      }
    }
    // None of them has waited for the provider.
    expect(answered).toBe(0);
    await untilIdle();
    expect(answered).toBe(0);
    api.provider.release();
    const kinds = (await Promise.all(lookups)).map(({ kind }) => kind);
    for (const kind of kinds) expect(['company-not-found', 'company-lookup-failed']).toContain(kind!);
    await instance.stop();
  });

  test('a leader that is killed in the middle keeps its NIF from others for one attempt at most', async () => {
    const victim = await api.spawnInstance();
    const number = nif(next++);
    api.provider.answer(number, nifPtFound(number));
    api.provider.hold();
    const lost = look(number, victim).catch(() => 'cut off');
    await until('the question', () => asked(number) === 1);
    await victim.kill('SIGKILL');
    expect(await lost).toBe('cut off');
    api.provider.release();
    await until('an answer', async () => (await look(number)).status === 200, 2 * BOUND_MS);
  });
});
