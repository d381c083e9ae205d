/** POST /debts over HTTP: every sentence of docs/api.md about it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { debtsFile, importBrackets } from '../companies/debts/support.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { digestOf } from '../support/digest.ts';

const [TAX, BOTH, SOCIAL, CLEAN, LATER] = [nif(1), nif(2), nif(3), nif(4), nif(5)];
const WRONG_CHECK_DIGIT = '500002577';
const plenty = { limits: { requestsPerMinute: 100_000 }, included: 100_000 };
const NONE = { tax_debt: null, social_security_debt: null };
const TAX_DEBT = { start: 7500, end: 25_000, last_updated: '2026-10-31' };

const api = await startApi();
afterAll(() => api.stop());

const post = (key: string | null, body: string, contentType = 'application/json') =>
  ask(api, '/debts', { key, method: 'POST', headers: { 'Content-Type': contentType }, body });
const screen = (key: string, nifs: unknown) => post(key, JSON.stringify({ nifs }));
type Element = { nif: string; status: number; debts?: unknown; problem?: { type: string } };
const statuses = (body: { data: Element[] }) => body.data.map(({ status }) => status);
const remaining = ({ headers }: { headers: Headers }) => Number(headers.get('RateLimit-Remaining'));

test('before any dataset was imported, every bracket and both dates are null', async () => {
  const { key } = await api.caller();
  const { status, body } = await screen(key, [CLEAN]);
  expect(status).toBe(200);
  expect(body).toEqual({
    data: [{ nif: CLEAN, status: 200, debts: NONE }],
    datasets: { tax: null, social_security: null },
    files: { tax: null, social_security: null },
  });
});

describe('with both datasets', () => {
  beforeAll(async () => {
    await importBrackets(api.database, { [TAX]: [7500, 25_000], [BOTH]: [1_000_000, null] });
    const kind = 'social-security';
    await importBrackets(
      api.database,
      { [SOCIAL]: [0, 0], [BOTH]: [5, 9_007_199_254_740_991] },
      { kind, date: '2026-11-02' },
    );
  });

  test('the answer has one element an item, in the order asked, repeated NIFs too, and the date of each dataset', async () => {
    const { accountId, key } = await api.caller(plenty);
    const { status, headers, body } = await screen(key, [CLEAN, BOTH, TAX, SOCIAL, TAX]);
    expect([status, headers.get('Content-Type')]).toEqual([200, 'application/json']);
    const social = (start: number, end: number) => ({ start, end, last_updated: '2026-11-02' });
    expect(body).toEqual({
      data: [
        { nif: CLEAN, status: 200, debts: NONE },
        {
          nif: BOTH,
          status: 200,
          debts: {
            tax_debt: { start: 1_000_000, end: null, last_updated: '2026-10-31' },
            social_security_debt: social(5, Number.MAX_SAFE_INTEGER),
          },
        },
        { nif: TAX, status: 200, debts: { ...NONE, tax_debt: TAX_DEBT } },
        { nif: SOCIAL, status: 200, debts: { ...NONE, social_security_debt: social(0, 0) } },
        { nif: TAX, status: 200, debts: { ...NONE, tax_debt: TAX_DEBT } },
      ],
      datasets: { tax: '2026-10-31', social_security: '2026-11-02' },
      files: {
        tax: digestOf(debtsFile({ [TAX]: [7500, 25_000], [BOTH]: [1_000_000, null] })),
        social_security: digestOf(debtsFile({ [SOCIAL]: [0, 0], [BOTH]: [5, 9_007_199_254_740_991] })),
      },
    });
    expect(await api.ledger({ accountId })).toEqual({ used: 5, credits: 0 });
  });

  test('a NIF is taken in the forms of the path, and with PT, and repeated as sent; one that is not valid is a validation that costs a credit', async () => {
    const { accountId, key } = await api.caller(plenty);
    const spaced = ` ${TAX.slice(0, 3)}.${TAX.slice(3)}`;
    const nifs = [spaced, WRONG_CHECK_DIGIT, `PT${TAX}`, '', '\ud800'];
    const { body } = await screen(key, nifs);
    expect(body.data.map((item: Element) => item.nif)).toEqual(nifs);
    expect(statuses(body)).toEqual([200, 400, 200, 400, 400]);
    expect(body.data[0].debts.tax_debt).toEqual(TAX_DEBT);
    const single = await ask(api, `/companies/${WRONG_CHECK_DIGIT}`, { key });
    expect(body.data[1]).toEqual({ nif: WRONG_CHECK_DIGIT, status: 400, problem: single.body });
    expect((await api.ledger({ accountId })).used).toBe(6);
  });

  test('1,000 NIFs are one token and 1,000 credits of the kind `debts`; no source is asked and no refresh taken', async () => {
    const { accountId, key } = await api.caller(plenty);
    const before = remaining(await ask(api, '/usage', { key }));
    const nifs = Array.from({ length: 1000 }, (_, n) => nif(n));
    const answer = await screen(key, nifs);
    expect(statuses(answer.body)).toEqual(Array(1000).fill(200));
    expect(answer.body.data.filter((item: Element) => !Bun.deepEquals(item.debts, NONE))).toHaveLength(3);
    expect(before - remaining(answer)).toBeWithin(0, 2);
    expect((await api.ledger({ accountId })).used).toBe(1000);
    const calls = await api.sql`SELECT kind, calls FROM calls_by_day WHERE account_id = ${accountId}`;
    expect(calls.map((row) => ({ ...row }))).toEqual([{ kind: 'debts', calls: 1000 }]);
    expect(await api.sql`SELECT 1 FROM account_refreshes WHERE account_id = ${accountId}`).toHaveLength(0);
    expect(api.provider.lookups()).toEqual([]);
  });

  test('an import is in the next answer, with its date', async () => {
    const { key } = await api.caller(plenty);
    await importBrackets(api.database, { [TAX]: [7500, 25_000], [LATER]: [1, 2] }, { date: '2026-11-10' });
    const { body } = await screen(key, [TAX, LATER, BOTH]);
    const dated = { last_updated: '2026-11-10' };
    expect(body.data[0].debts.tax_debt).toEqual({ ...TAX_DEBT, ...dated });
    expect(body.data[1].debts.tax_debt).toEqual({ start: 1, end: 2, ...dated });
    expect(body.data[2].debts.tax_debt).toBeNull();
    expect(body.datasets).toEqual({ tax: '2026-11-10', social_security: '2026-11-02' });
  });
});
