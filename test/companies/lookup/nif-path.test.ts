import { afterAll, expect, test } from 'bun:test';
import { startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import { nifPtFound } from '../../support/provider.ts';

const api = await startApi();
api.provider.answerAll((nif) => nifPtFound(nif));
const caller = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
afterAll(() => api.stop());
const look = (path: string) => ask(api, `/companies/${path}`, { key: caller.key });

test.each([
  '500002576',
  '500%20002%20576',
  '%20500002576%20',
  '500%C2%A0002%C2%A0576',
  '5-0.0%200--0..2%20%20576',
  '5%30%30002576',
  '500002576?q=1',
])('%s is the NIF 500002576', async (path) => {
  const { status, body } = await look(path);
  expect([status, body.data?.nif]).toEqual([200, 500002576]);
});

test.each([
  ['PT500002576', 'a country prefix'],
  ['500002577', 'a wrong check digit'],
  ['500+002+576', 'plus signs'],
  ['500002576%00', 'a NUL'],
  ['500002576%0A', 'a line break'],
  ['%EF%BC%95%EF%BC%90%EF%BC%90%EF%BC%90%EF%BC%90%EF%BC%92%EF%BC%95%EF%BC%97%EF%BC%96', 'full-width digits'],
  ['%', 'a malformed escape'],
  ['%E0%A4%A', 'a malformed escape'],
  ['500002576%', 'a malformed escape'],
  ['%20', 'a separator only'],
  [`${'1'.repeat(8000)}`, 'eight thousand digits'],
  ["500002576'--", 'a quote'],
])('%s is a 400: %s', async (path) => {
  const asked = api.provider.lookups().length;
  const { status, kind } = await look(path);
  expect([status, kind]).toEqual([400, 'validation']);
  expect(api.provider.lookups()).toHaveLength(asked);
});

test('a NIF may begin with zeros; the provider is asked for all nine digits', async () => {
  const { status, body } = await look('012%20345%20679');
  expect([status, body.data.nif]).toEqual([200, 12345679]);
  expect(api.provider.lookups().at(-1)!.nif).toBe('012345679');
  expect((await look('000000000')).body.data.nif).toBe(0);
});

test('every spelling is the same company: one record is stored, and the provider is asked once', async () => {
  const before = api.provider.lookups().length;
  for (const path of ['509442013', '509%20442%20013', '509.442.013'])
    expect((await look(path)).status).toBe(200);
  expect(api.provider.lookups()).toHaveLength(before + 1);
  expect(await api.sql`SELECT nif FROM companies WHERE nif = '509442013'`).toHaveLength(1);
});
