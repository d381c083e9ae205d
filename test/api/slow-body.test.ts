/**
 * A body that arrives slowly: the request is admitted by its key as it is once the body was read, and without a key or a token it is
 * answered at once. The doors are the service's own list.
 */
import { afterAll, expect, test } from 'bun:test';
import { ROUTES } from '../../src/dashboard/routes.ts';
import { BASE_PATH } from '../../src/http/api-route.ts';
import { setSuspended } from '../../src/metering/accounts/changes.ts';
import { revokeKey } from '../../src/metering/keys/key-store.ts';
import { limitKey } from '../../src/metering/keys/limit-key.ts';
import { generateSecret } from '../../src/metering/keys/secret.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { ledgerOf } from '../metering/credits/ledger.ts';
import { type Caller, type Instance, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { requestText, sendText } from '../support/client.ts';
import { nif } from '../support/companies.ts';
import { callMessage } from '../support/mcp.ts';
import { readMetrics } from '../support/metrics.ts';
import { until } from '../support/until.ts';

const api = await startApi({ directory: `nif,legal_name\n${nif(1)},Primeira` });
afterAll(() => api.stop());
const { sql } = api;

interface Door {
  path: string;
  headers: Record<string, string>;
  body: string;
}
const DOORS: Door[] = API_ROUTES.filter(({ body }) => body !== undefined).map(({ path, body }) => ({
  path: BASE_PATH + path,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body!.examples[0]),
}));
DOORS.push({ path: '/mcp', ...callMessage('check_debts', { nifs: [nif(1)] }) });

const GONE = /^HTTP\/1\.1 401/;
const CHANGES: [name: string, change: (caller: Caller) => Promise<unknown>, answer: RegExp][] = [
  ['the key is revoked', ({ keyId }) => revokeKey(sql, keyId, 'test'), GONE],
  ['the account is suspended', ({ accountId }) => setSuspended(sql, accountId, true, 'test'), GONE],
  [
    'the key gets other rights',
    ({ keyId }) => limitKey(sql, keyId, { only: ['search'] }, 'test'),
    /not-permitted|lacks the permission/,
  ],
  [
    'the key gets a budget of nothing',
    ({ keyId }) => limitKey(sql, keyId, { budget: { credits: 0, per: 'ever' } }, 'test'),
    /key-budget-spent|The credit limit of the key is 0/,
  ],
];

/** Beside the request for the metrics themselves. */
const areRunning = (requests: number, at: Pick<Instance, 'baseUrl'> = api) =>
  until('the requests', async () => (await readMetrics(at)).http_requests_running! > requests);

/** All doors at once, because a change of rights takes up to five seconds. */
test.each(CHANGES)('while bodies are on their way, %s: they cost nothing', async (_name, change, answer) => {
  const sendings = await Promise.all(DOORS.map((door) => begin(door)));
  await areRunning(DOORS.length);
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

test('a client that leaves in the middle of its body costs no credit', async () => {
  const { caller, socket } = await begin(DOORS[0]!);
  await areRunning(1);
  socket.end();
  const lines = () =>
    api.logLines.filter(({ account, status }) => account === caller.accountId && status === 503);
  await until('the log line', () => lines().length === 1);
  expect(lines()[0]).toMatchObject({ msg: 'request', route: DOORS[0]!.path });
  expect(await ledgerOf(sql, caller.accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

test('a body that is still sent when the service stops gets a 503, and costs no credit', async () => {
  const instance = await api.startInstance();
  const { caller, closed } = await begin(DOORS[0]!, instance);
  await areRunning(1, instance);
  await instance.stop();
  expect(await closed).toStartWith('HTTP/1.1 503');
  expect(instance.logLines.some(({ msg }) => msg === 'requests were cut off')).toBe(false);
  expect(await ledgerOf(sql, caller.accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
});

/** Sends the head of a request, and the first bytes of its body. */
async function begin(
  { path, headers, body }: Door,
  { url, baseUrl }: Pick<Instance, 'url' | 'baseUrl'> = api,
) {
  const caller = await api.caller({ limits: { requestsPerMinute: 1000 } });
  // A new process knows its key then, so that the request waits for its body alone.
  await ask({ url }, '/usage', caller);
  const length = { 'Content-Length': Buffer.byteLength(body) };
  const sent = { Authorization: `Bearer ${caller.key}`, ...length, ...headers };
  const { socket, closed } = await sendText(baseUrl, requestText(`POST ${path}`, sent, body.slice(0, 3)));
  return { path, caller, socket, closed, end: () => socket.write(body.slice(3)) };
}

/** The status of the answer to a POST whose body begins, and never ends. A read of it would take longer than a test may. */
async function statusOf(path: string, key?: string): Promise<number> {
  const authorization = key === undefined ? {} : { Authorization: `Bearer ${key}` };
  const headers = { ...authorization, 'Content-Type': 'application/json', 'Content-Length': 1000 };
  const text = requestText(`POST ${path}`, headers, '{"nifs":["500002576"');
  const { closed } = await sendText(api.baseUrl, text);
  return Number((await closed).split(' ')[1]);
}

test.each(DOORS)(
  'POST $path without a valid key is a 401 at once, and without a token a 429',
  async ({ path }) => {
    for (const wrong of [undefined, 'svc_wrong', generateSecret()])
      expect([wrong, await statusOf(path, wrong)]).toEqual([wrong, 401]);
    const { key } = await api.caller({ limits: { requestsPerMinute: 1 } });
    await ask(api, '/usage', { key });
    expect(await statusOf(path, key)).toBe(429);
  },
);

test('an endpoint or a page that takes no POST does not wait for a body either', async () => {
  for (const { path, body } of API_ROUTES)
    if (body === undefined) expect([path, await statusOf(BASE_PATH + path)]).toEqual([path, 405]);
  const pages = Object.entries(ROUTES).filter(([, { POST }]) => POST === undefined);
  for (const [path] of pages) {
    // A page of a member leads to the sign-in.
    expect([303, 405]).toContain(await statusOf(`/dashboard${path}`));
  }
});
