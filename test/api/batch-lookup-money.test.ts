/** Batch lookups are exact: at the same moment on two instances, and with clients that leave. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ledgerOf } from '../metering/credits/ledger.ts';
import { type Caller, type Instance, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { sendText } from '../support/client.ts';
import { nif } from '../support/companies.ts';
import '../support/modes.ts';
import { storeRecord } from '../support/records.ts';
import { until } from '../support/until.ts';

const NIFS = Array.from({ length: 50 }, (_, index) => nif(index));
const plenty = { limits: { requestsPerMinute: 100_000 } };

const api = await startApi({ mode: 'full' });
const other = await api.startInstance();
for (const number of NIFS) await storeRecord(api.sql, number, 'Empresa');
afterAll(() => api.stop());

const lookUp = (at: Instance, { key }: Pick<Caller, 'key'>, nifs: string[] = NIFS) =>
  ask(at, '/lookups', {
    key,
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ nifs }),
  });
const statuses = (body: { data: { status: number }[] }) => body.data.map(({ status }) => status);

test('two instances with six batches of 50 at once answer exactly the 137 items that there are credits for', async () => {
  const caller = await api.caller({ ...plenty, included: 100, credits: 37 });
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) => lookUp(index % 2 === 0 ? api : other, caller)),
  );
  const counts = answers.map(({ status, kind, body }) => {
    if (status === 429) {
      expect(kind).toBe('monthly-quota-exceeded');
      return 0;
    }
    const answered = statuses(body).filter((each) => each === 200).length;
    // The first items get the credits.
    expect(statuses(body)).toEqual([...Array(answered).fill(200), ...Array(50 - answered).fill(429)]);
    return answered;
  });
  expect(counts.toSorted((a, b) => b - a)).toEqual([50, 50, 37, 0, 0, 0]);
  expect(await ledgerOf(api.sql, caller.accountId)).toEqual({ used: 137, credits: 0, calls: 137 });
});

test('batches and single lookups of one account at once share its credits exactly', async () => {
  const caller = await api.caller({ ...plenty, included: 137 });
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => {
      const at = index % 2 === 0 ? api : other;
      return index % 4 < 2 ? lookUp(at, caller, NIFS.slice(0, 10)) : ask(at, `/companies/${NIFS[0]}`, caller);
    }),
  );
  const answered = answers.flatMap(({ status, body }) =>
    status === 200 ? (Array.isArray(body.data) ? statuses(body) : [200]) : [],
  );
  expect(answered.filter((status) => status === 200)).toHaveLength(137);
  expect(await ledgerOf(api.sql, caller.accountId)).toEqual({ used: 137, credits: 0, calls: 137 });
});

describe('a client that is slow', () => {
  /** Sends the head of a batch and a part of its body. */
  const begin = ({ baseUrl }: Pick<Instance, 'baseUrl'>, { key }: Caller) =>
    sendText(
      baseUrl,
      `POST /api/v1/lookups HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"nifs":`,
    );
  const requestsOf = ({ logLines }: Instance, { accountId }: Caller) =>
    logLines.filter(({ msg, account }) => msg === 'request' && account === accountId);
  /** Beside the request for the metrics themselves. */
  const isRunning = ({ baseUrl }: Instance) =>
    until('the request', async () => {
      const metrics = await (await fetch(`${baseUrl}/metrics`)).text();
      return Number(/^http_requests_running (\d+)$/m.exec(metrics)?.[1]) > 1;
    });

  test('and leaves in the middle of its body costs no credit', async () => {
    const caller = await api.caller(plenty);
    const { socket } = await begin(api, caller);
    await isRunning(api);
    socket.end();
    await until('the log line', () => requestsOf(api, caller).length === 1);
    expect(requestsOf(api, caller)[0]).toMatchObject({ status: 503, route: '/api/v1/lookups' });
    expect(await ledgerOf(api.sql, caller.accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  });

  test('and still sends its body when the service stops gets a 503, and costs no credit', async () => {
    const caller = await api.caller(plenty);
    const instance = await api.startInstance();
    // A new process knows its key before the stop, so that the request waits for its body alone.
    await ask(instance, '/usage', caller);
    const { closed } = await begin(instance, caller);
    await isRunning(instance);
    await instance.stop();
    expect(await closed).toStartWith('HTTP/1.1 503');
    expect(instance.logLines.some(({ msg }) => msg === 'requests were cut off')).toBe(false);
    expect(await ledgerOf(api.sql, caller.accountId)).toEqual({ used: 0, credits: 0, calls: 0 });
  });
});
