/** POST /debts over HTTP: every sentence of docs/api.md about it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { debtsFile, importBrackets } from '../companies/debts/debts-support.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { digestOf } from '../support/digest.ts';

const [TAX, BOTH, SOCIAL, CLEAN, LATER] = [nif(1), nif(2), nif(3), nif(4), nif(5)];
const plenty = { limits: { requestsPerMinute: 100_000 }, included: 100_000 };
const NONE = { tax_debt: null, social_security_debt: null };
const TAX_DEBT = { start: 7500, end: 25_000, last_updated: '2026-10-31' };

const api = await startApi();
afterAll(() => api.stop());

const screen = (key: string, nifs: unknown) => ask(api, '/debts', { key, json: { nifs } });

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

  test('the answer has one element an item, in the order asked, repeated NIFs too, and the date of each dataset; no source is asked', async () => {
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
    expect(await api.sql`SELECT FROM account_refreshes WHERE account_id = ${accountId}`).toHaveLength(0);
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
