/** `X-Credits` says what the ledger says, over every endpoint and tool. */
import { afterAll, expect, test } from 'bun:test';
import { methodOf } from '../../src/http/api-route.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { hasTool, post, requestFor } from '../companies/test-world/requests.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import type { CallAnswer } from '../support/client.ts';
import { csv, nif } from '../support/companies.ts';
import { send, WAYS } from '../support/mcp.ts';
import { createTestKey } from '../support/service.ts';
import { eventually } from '../support/until.ts';

const api = await startApi({ directory: csv(1, 4), proxied: ['postgres'] });
afterAll(() => api.stop());

const plenty = { limits: { requestsPerMinute: 6000 }, included: 10_000 };
const creditsOf = ({ headers }: Pick<CallAnswer, 'headers'>) => headers.get('x-credits');

/** The log's line of the latest request. */
const logged = () =>
  api.logLines.findLast(({ msg, route }) => msg === 'request' && route !== '/openapi/json');

const cases = API_ROUTES.flatMap((route) =>
  (hasTool(route) ? (['REST', 'MCP'] as const) : (['REST'] as const)).map(
    (way) => [way, `${methodOf(route)} ${route.path}`, route] as const,
  ),
);

test.each(cases)('by %s: answers and bad input of %s have what was charged', async (way, _name, route) => {
  const caller = await api.caller(plenty);
  const used = async () => (await api.ledger(caller)).used;
  for (const kind of [null, 'validation'] as const) {
    const before = await used();
    const [path, options] = requestFor(route, kind);
    const answer = await WAYS[way](api, path, { ...options, key: caller.key });
    const cost = (await used()) - before;
    expect([kind, creditsOf(answer)]).toEqual([kind, String(cost)]);
    await eventually(async () => logged()?.credits, cost);
  }
});

test.each(cases)('by %s: refusals of %s, and answers to a test key, have 0', async (way, _name, route) => {
  const [path, options] = requestFor(route, null);
  const poor = await api.caller({ ...plenty, included: 0 });
  const unpaid = await WAYS[way](api, path, { ...options, key: poor.key });
  expect([unpaid.kind, creditsOf(unpaid)]).toEqual([route.charge && 'monthly-quota-exceeded', '0']);
  const slow = await api.caller({ limits: { requestsPerMinute: 1 } });
  await ask(api, '/usage', { key: slow.key });
  const limited = await WAYS[way](api, path, { ...options, key: slow.key });
  expect([limited.kind, creditsOf(limited)]).toEqual(['rate-limit-exceeded', '0']);
  const testKey = await createTestKey(api.sql, poor.accountId);
  expect(creditsOf(await WAYS[way](api, path, { ...options, key: testKey }))).toBe('0');
  await eventually(async () => logged()?.credits, 0);
  const unknown = await WAYS[way](api, path, { ...options, key: 'svc_nobody' });
  expect([unknown.status, creditsOf(unknown)]).toEqual([401, null]);
});

test('a repetition has 0, and a list has what its paid items cost', async () => {
  const { key } = await api.caller({ ...plenty, included: 2 });
  const sent = post({ nifs: [nif(1), nif(2), nif(3)] });
  const request = { ...sent, key, headers: { ...sent.headers, 'Idempotency-Key': 'a' } };
  expect([
    creditsOf(await ask(api, '/debts', request)),
    creditsOf(await ask(api, '/debts', request)),
  ]).toEqual(['2', '0']);
});

test('a message of the protocol that calls no tool has 0', async () => {
  const { key } = await api.caller(plenty);
  const response = await send(api, { jsonrpc: '2.0', id: 1, method: 'ping' }, { key });
  expect(creditsOf(response)).toBe('0');
});
