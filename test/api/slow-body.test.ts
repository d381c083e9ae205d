/** A request whose body arrives slowly is admitted by its key as it is once the body was read, at every door that takes a body. */
import { afterAll, expect, test } from 'bun:test';
import type { OpenAPIV3 } from 'openapi-types';
import { setSuspended } from '../../src/metering/accounts/changes.ts';
import { revokeKey } from '../../src/metering/keys/key-store.ts';
import { limitKey } from '../../src/metering/keys/limit-key.ts';
import { type Caller, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { sendText } from '../support/client.ts';
import { nif } from '../support/companies.ts';
import { callMessage } from '../support/mcp.ts';
import { until } from '../support/until.ts';

const api = await startApi({ directory: `nif,legal_name\n${nif(1)},Primeira` });
afterAll(() => api.stop());
const { sql } = api;

interface Door {
  path: string;
  headers: Record<string, string>;
  body: string;
}
const document = (await (await fetch(`${api.baseUrl}/openapi/json`)).json()) as OpenAPIV3.Document;
const DOORS: Door[] = Object.entries(document.paths).flatMap(([path, operations]) => {
  const body = operations?.post?.requestBody as OpenAPIV3.RequestBodyObject | undefined;
  if (body === undefined) return [];
  const { example, examples, schema } = body.content['application/json']!;
  const shown =
    example ?? Object.values(examples ?? {})[0] ?? (schema as { examples?: unknown[] }).examples?.[0];
  return {
    path: `/api/v1${path}`,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(shown),
  };
});
DOORS.push({ path: '/mcp', ...callMessage('check_debts', { nifs: [nif(1)] }) });

const CHANGES: [name: string, change: (caller: Caller) => Promise<unknown>, answer: RegExp][] = [
  ['the key is revoked', ({ keyId }) => revokeKey(sql, keyId, 'test'), /^HTTP\/1\.1 401/],
  [
    'the account is suspended',
    ({ accountId }) => setSuspended(sql, accountId, true, 'test'),
    /^HTTP\/1\.1 401/,
  ],
  [
    'the key gets other rights',
    ({ keyId }) => limitKey(sql, keyId, { only: ['search'] }, 'test'),
    /not-permitted|lacks the right/,
  ],
  [
    'the key gets a budget of nothing',
    ({ keyId }) => limitKey(sql, keyId, { budget: { credits: 0, per: 'ever' } }, 'test'),
    /key-budget-spent|The budget of the key is 0 credits/,
  ],
];

/** All doors at once, because a change of rights takes up to five seconds. */
test.each(CHANGES)('while bodies are on their way, %s: they cost nothing', async (_name, change, answer) => {
  const sendings = await Promise.all(DOORS.map((door) => begin(door)));
  // Beside the request for the metrics themselves.
  await until('the requests', async () => {
    const metrics = await (await fetch(`${api.baseUrl}/metrics`)).text();
    return Number(/^http_requests_running (\d+)$/m.exec(metrics)?.[1]) > DOORS.length;
  });
  for (const { caller } of sendings) await change(caller);
  // By a call that costs a credit, because a free one does not ask for the budget.
  await until('the changes', async () => {
    const probes = await Promise.all(sendings.map(({ caller }) => ask(api, `/companies/${nif(1)}`, caller)));
    return probes.every(({ status }) => status === 401 || status === 403);
  });
  const before = await Promise.all(sendings.map(({ caller }) => api.ledger(caller)));
  for (const { end } of sendings) end();
  const answers = await Promise.all(sendings.map(async ({ path, closed }) => [path, await closed]));
  expect(answers).toEqual(DOORS.map(({ path }) => [path, expect.stringMatching(answer)]));
  expect(await Promise.all(sendings.map(({ caller }) => api.ledger(caller)))).toEqual(before);
});

test('the doors are those that take a body', () => {
  const paths = ['/resolutions', '/lookups', '/debts', '/debts/changes'].map((path) => `/api/v1${path}`);
  expect(DOORS.map(({ path }) => path).toSorted()).toEqual([...paths, '/mcp'].toSorted());
});

/** Sends the head of a request, and the first bytes of its body. */
async function begin({ path, headers, body }: Door) {
  const caller = await api.caller({ limits: { requestsPerMinute: 1000 } });
  const sent = {
    Host: 'x',
    Connection: 'close',
    Authorization: `Bearer ${caller.key}`,
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  };
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body.slice(0, 3)}`;
  const { socket, closed } = await sendText(api.baseUrl, text);
  return { path, caller, closed, end: () => socket.write(body.slice(3)) };
}
