/** The share of a key over HTTP: whose limit refuses, what the headers say, and what the account still has. */
import { afterAll, expect, test } from 'bun:test';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { createKey } from '../../src/metering/keys/store.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';

const api = await startApi();
afterAll(() => api.stop());

const rateOf = ({ headers }: { headers: Headers }) =>
  ['limit', 'remaining', 'policy'].map((name) => headers.get(`ratelimit-${name}`));

async function accountWithShare(share: number | null, isTest = false) {
  const { accountId, key: production } = await api.caller({ limits: { requestsPerMinute: 10 } });
  const key = generateSecret(undefined, isTest);
  const limits = { requests_per_minute: share };
  await createKey(api.sql, accountId, '', 'test', null, key, limits);
  return { accountId, production, key };
}

test.each([false, true])(
  'a key beyond its share is refused, and production goes on (test key: %p)',
  async (isTest) => {
    const { production, key } = await accountWithShare(2, isTest);
    const first = await ask(api, '/key', { key });
    expect(first.body.data.requests_per_minute).toBe(2);
    expect(rateOf(first)).toEqual(['2', '1', '2;w=60']);
    await ask(api, '/key', { key });
    for (let call = 0; call < 3; call += 1) {
      const refused = await ask(api, '/key', { key });
      expect([refused.status, refused.kind, refused.body.scope]).toEqual([429, 'rate-limit-exceeded', 'key']);
      expect(refused.body.detail).toStartWith(
        "The key's share of the account's rate is 2 requests per minute.",
      );
      expect(rateOf(refused)).toEqual(['2', '0', '2;w=60']);
      expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 31);
    }
    // The refused requests took nothing of the account.
    expect(rateOf(await ask(api, '/usage', { key: production }))).toEqual(['10', '7', '10;w=60']);
  },
);

test('an empty bucket of the account refuses a key with a share, too, and says so', async () => {
  const { production, key } = await accountWithShare(5);
  for (let call = 0; call < 10; call += 1) await ask(api, '/key', { key: production });
  const refused = await ask(api, '/key', { key });
  expect([refused.status, refused.body.scope]).toEqual([429, 'account']);
  expect(refused.body.detail).toStartWith('The account has 10 requests per minute.');
  const own = await ask(api, '/key', { key: production });
  expect([own.status, own.body.scope, ...rateOf(own)]).toEqual([429, 'account', '10', '0', '10;w=60']);
});

test('/usage stays the account’s, and a share above the account’s rate changes no header', async () => {
  const { accountId, key } = await accountWithShare(3);
  const { body, headers } = await ask(api, '/usage', { key });
  expect([body.data.rateLimit, headers.get('ratelimit-limit')]).toEqual([{ limit: 10, remaining: 9 }, '3']);
  const wide = generateSecret(undefined, true);
  await createKey(api.sql, accountId, '', 'test', null, wide, { requests_per_minute: 1000 });
  expect(rateOf(await ask(api, '/usage', { key: wide }))).toEqual(['10', '8', '10;w=60']);
});
