/** A lookup that this service failed, and not a source, costs nothing; its time is counted from its arrival. */
import { afterAll, afterEach, expect, test } from 'bun:test';
import { createLookup } from '../../../src/companies/lookup/lookup.ts';
import { createLookupHandler } from '../../../src/companies/lookup/lookup-route.ts';
import { startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import { nif } from '../../support/companies.ts';
import { runHandler } from '../../support/handler.ts';
import { nifPtFound } from '../../support/provider.ts';
import { eventually, until } from '../../support/until.ts';

let next = 1500;
const api = await startApi({ proxied: ['postgres'], env: { PROVIDER_TIMEOUT_MS: '500' } });
const caller = await api.caller();
api.provider.answerAll((number) => nifPtFound(number));
// Its key is in the cache from now on.
await ask(api, '/usage', { key: caller.key });
afterEach(() => {
  api.proxies.postgres.up();
  api.provider.release();
});
afterAll(() => api.stop());

const look = (number: string) => ask(api, `/companies/${number}`, { key: caller.key });
const asked = (number: string) => api.provider.lookups().filter((request) => request.nif === number).length;

test('a source answers at once and Postgres hangs when its record is stored: 503, and the credit comes back', async () => {
  const { used } = await api.ledger(caller);
  const number = nif(next++);
  api.provider.hold();
  const answer = look(number);
  await until('the question', () => asked(number) === 1);
  api.proxies.postgres.hang();
  api.provider.release();
  const { status, kind } = await answer;
  expect([status, kind]).toEqual([503, 'service-unavailable']);
  api.proxies.postgres.up();
  await eventually(async () => (await api.ledger(caller)).used, used);
});

test('the time of a lookup begins with its arrival: what the admission took is not added', async () => {
  const timeoutMs = 100_000;
  const silent = { refresh: () => new Promise<never>(() => {}), sweep: async () => {} };
  const lookUp = createLookup({ refresher: silent, timeoutMs });
  const handler = createLookupHandler({ findCompany: async () => null, lookUp, findRefusal: () => null });
  const arrivedMs = performance.now() - timeoutMs + 100;
  expect(await runHandler(handler, { nif: '500002576' }, { arrivedMs })).toMatchObject({
    problem: { kind: 'service-unavailable' },
  });
});
