/** A problem that a test key calls up has the headers of the real one. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { methodOf } from '../../../src/http/api-route.ts';
import type { ProblemName } from '../../../src/http/problems.ts';
import { purgeActivity } from '../../../src/metering/activity/purge.ts';
import { createKey } from '../../../src/metering/keys/key-store.ts';
import type { KeyLimits } from '../../../src/metering/keys/limits.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { type Api, startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import type { CallAnswer } from '../../support/client.ts';
import { csv, nif } from '../../support/companies.ts';
import { createTestKey } from '../../support/service.ts';
import { eventually } from '../../support/until.ts';
import { CASES, post, requestFor } from './requests.ts';

const FAILING = nif(2);

let api: Api;
let testKey: string;
beforeAll(async () => {
  api = await startApi({ proxied: ['postgres'], directory: csv(1, 4) });
  api.provider.answer(FAILING, { result: 'surprise' });
  testKey = await createTestKey(api.sql, (await newCaller()).accountId);
});
afterAll(() => api.stop());

const newCaller = (options = {}) => api.caller({ limits: { requestsPerMinute: 6000 }, ...options });

/** Asks with a new key between both statements. */
async function whileBroken(breaking: string, mending: string, path: string): Promise<CallAnswer> {
  const { key } = await newCaller();
  // An earlier test may have taken Postgres away.
  await eventually(async () => (await ask(api, '/datasets', { key })).status, 200);
  await api.sql.unsafe(breaking);
  return ask(api, path, { key }).finally(() => api.sql.unsafe(mending));
}

/** Asks with a key that has limits. */
async function askLimited(limits: Partial<KeyLimits>): Promise<CallAnswer> {
  const { accountId } = await newCaller();
  const key = generateSecret();
  await createKey(api.sql, accountId, '', 'test', null, key, limits);
  return ask(api, '/companies?q=a', { key });
}

/** How a key that is no test key gets each problem. */
const REAL: { [kind in ProblemName]?: () => Promise<CallAnswer> } = {
  validation: async () => ask(api, '/companies', { key: (await newCaller()).key }),
  'company-not-found': async () => ask(api, `/companies/${nif(1)}`, { key: (await newCaller()).key }),
  'company-lookup-failed': async () => ask(api, `/companies/${FAILING}`, { key: (await newCaller()).key }),
  'changes-expired': async () => {
    await api.sql`UPDATE debt_change_numbers SET last = 10, purged = 10`;
    return ask(api, '/debts/changes', { ...post({ after: 'chg_1' }), key: (await newCaller()).key });
  },
  'activity-expired': async () => {
    await purgeActivity(api.sql, 1);
    return ask(api, '/activity?after=act_1', { key: (await newCaller()).key });
  },
  'rate-limit-exceeded': async () => {
    const { key } = await newCaller({ limits: { requestsPerMinute: 1 } });
    await ask(api, '/usage', { key });
    return ask(api, '/usage', { key });
  },
  'monthly-quota-exceeded': async () =>
    ask(api, '/companies?q=a', { key: (await newCaller({ included: 0 })).key }),
  'key-budget-exceeded': () => askLimited({ budget: { credits: 0, per: 'day' }, only: null }),
  'key-budget-spent': () => askLimited({ budget: { credits: 0, per: 'ever' }, only: null }),
  'not-permitted': () => askLimited({ budget: null, only: ['usage'] }),
  'authentication-failed': () => {
    api.proxies.postgres.down();
    return ask(api, '/usage', { key: generateSecret() }).finally(api.proxies.postgres.up);
  },
  'service-unavailable': () =>
    whileBroken(
      'ALTER TABLE debt_datasets RENAME TO hidden',
      'ALTER TABLE hidden RENAME TO debt_datasets',
      '/datasets',
    ),
  'search-failed': () =>
    whileBroken(
      'ALTER TABLE directory_generations RENAME TO hidden',
      'ALTER TABLE hidden RENAME TO directory_generations',
      '/companies?q=a',
    ),
  // A date that the program does not expect there.
  'internal-error': () =>
    whileBroken(
      `UPDATE directory_generations SET loaded_at = 'infinity'`,
      'UPDATE directory_generations SET loaded_at = NULL',
      '/datasets',
    ),
};

const namesOf = ({ headers }: CallAnswer) =>
  [...headers.keys()].filter((name) => name !== 'x-test-key').toSorted();

// No request with a test key is `unauthorized`.
const KINDS = [...new Set(CASES.map(([, kind]) => kind))].filter((kind) => kind !== 'unauthorized');

test.each(KINDS)('%s', async (kind) => {
  const meet = REAL[kind];
  if (meet === undefined) throw new Error(`REAL has no request of a real key that meets ${kind}`);
  const real = await meet();
  expect(real.kind).toBe(kind);
  for (const [, , route] of CASES.filter(([, of]) => of === kind)) {
    const [path, options] = requestFor(route, kind);
    const atWill = await ask(api, path, { ...options, key: testKey });
    expect([methodOf(route), path, atWill.kind, namesOf(atWill)]).toEqual([
      methodOf(route),
      path,
      kind,
      namesOf(real),
    ]);
    expect(atWill.headers.get('x-test-key')).toBe('true');
  }
});
