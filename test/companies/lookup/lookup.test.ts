/** A lookup: when its record is fresh, what a refresh stores, and the debts beside it. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { startApi } from '../../support/api.ts';
import { ask } from '../../support/ask.ts';
import { nif } from '../../support/companies.ts';
import { waitingForLock } from '../../support/locks.ts';
import { nifPtFound, nifPtNotFound } from '../../support/provider.ts';
import { DAY_S, setAge } from '../../support/records.ts';
import { until } from '../../support/until.ts';
import { importBrackets } from '../debts/debts-support.ts';

const SIX_DAYS_S = 6 * DAY_S;

let next = 100;
const api = await startApi();
const caller = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
afterEach(() => api.provider.mode('normal'));
afterAll(() => api.stop());

const look = (number: string, at: { url: string } = api) =>
  ask(at, `/companies/${number}`, { key: caller.key });
const asked = (number: string) => api.provider.lookups().filter((request) => request.nif === number).length;
const stored = async (number: string) =>
  (
    await api.sql`SELECT details->>'title' AS title, source, fetched_at FROM companies WHERE nif = ${number}`
  )[0];

/** A NIF that nobody has used, stored that long ago under the title `old`; the provider knows it as `new`. */
async function storedBefore(ageS: number): Promise<string> {
  const number = nif(next++);
  api.provider.answer(number, nifPtFound(number, { title: 'old' }));
  expect((await look(number)).status).toBe(200);
  await setAge(api.sql, number, ageS);
  api.provider.answer(number, nifPtFound(number, { title: 'new' }));
  return number;
}

describe('freshness', () => {
  test('a record younger than six days is answered as stored, and nobody is asked', async () => {
    for (const ageS of [0, DAY_S, SIX_DAYS_S - 30]) {
      const sinceMs = Date.now() - ageS * 1000;
      const number = await storedBefore(ageS);
      const untilMs = Date.now() - ageS * 1000;
      const { body, headers } = await look(number);
      expect(body.data.title).toBe('old');
      expect(asked(number)).toBe(1);
      expect(Date.parse(headers.get('Last-Modified')!)).toBeWithin(sinceMs - 1000, untilMs + 1000);
    }
  });

  test('a record of six days is refreshed, stored, and answered as new', async () => {
    for (const ageS of [SIX_DAYS_S, SIX_DAYS_S + 1, 400 * DAY_S]) {
      const number = await storedBefore(ageS);
      const sinceMs = Date.now();
      const { body, headers } = await look(number);
      expect(body.data.title).toBe('new');
      expect(asked(number)).toBe(2);
      expect((await stored(number))!.title).toBe('new');
      expect(Date.parse(headers.get('Last-Modified')!)).toBeWithin(sinceMs - 1000, Date.now() + 1000);
      expect((await look(number)).body.data.title).toBe('new');
      expect(asked(number)).toBe(2);
    }
  });

  test('what a refresh does not supply is empty, not carried over', async () => {
    const number = await storedBefore(SIX_DAYS_S);
    api.provider.answer(number, {
      result: 'success',
      records: { [number]: { nif: Number(number), title: 'bare' } },
    });
    const { data } = (await look(number)).body;
    expect([data.title, data.address, data.cae, data.structure]).toEqual([
      'bare',
      '',
      '',
      { nature: '', capital: '0', capital_currency: 'EUR' },
    ]);
  });

  test('a failed refresh is a 502, however young the old record is beyond its age; it stays where it is', async () => {
    const number = await storedBefore(SIX_DAYS_S + 1);
    await api.provider.mode({ status: 500 });
    const failed = await look(number);
    expect([failed.status, failed.kind]).toEqual([502, 'company-lookup-failed']);
    expect(JSON.stringify(failed.body)).not.toContain('old');
    expect((await stored(number))!.title).toBe('old');
    await api.provider.mode('normal');
    expect((await look(number)).body.data.title).toBe('new');
  });

  test('a definite "not found" is a 404, is not stored, and leaves the old record where it is', async () => {
    const number = await storedBefore(SIX_DAYS_S + 1);
    api.provider.answer(number, nifPtNotFound());
    for (let i = 0; i < 2; i++) {
      const { status, kind } = await look(number);
      expect([status, kind]).toEqual([404, 'company-not-found']);
    }
    expect((await stored(number))!.title).toBe('old');
    const [refresh] = await api.sql`SELECT outcome FROM company_refreshes WHERE nif = ${number}`;
    expect(refresh!.outcome).toBe('not-found');
  });

  test('for five minutes after a definite "not found" no source is asked again, by any instance', async () => {
    const number = nif(next++);
    const second = await api.startInstance();
    expect((await look(number)).status).toBe(404);
    api.provider.answer(number, nifPtFound(number, { title: 'founded' }));
    for (const at of [api, second, api]) expect((await look(number, at)).kind).toBe('company-not-found');
    expect(asked(number)).toBe(1);
    await second.stop();
    const [row] = await api.sql`
      SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 AS seconds
      FROM company_refreshes WHERE nif = ${number}`;
    expect(row!.seconds).toBeGreaterThan(270);
    expect(row!.seconds).toBeLessThanOrEqual(300);
    await api.sql`UPDATE company_refreshes SET expires_at = clock_timestamp() WHERE nif = ${number}`;
    expect((await look(number)).body.data.title).toBe('founded');
  });

  test('`companies forget` ends that, also when no record is stored', async () => {
    const number = nif(next++);
    expect((await look(number)).status).toBe(404);
    const forgotten = await api.command('companies', 'forget', number, '--json');
    expect([forgotten.code, forgotten.json]).toEqual([0, { nif: number, forgotten: false }]);
    api.provider.answer(number, nifPtFound(number, { title: 'founded' }));
    expect((await look(number)).body.data.title).toBe('founded');
  });

  test('RECORD_MAX_AGE_S says from which age on a record is refreshed; 0 refreshes always', async () => {
    const hourly = await api.startInstance({ RECORD_MAX_AGE_S: '3600' });
    const always = await api.startInstance({ RECORD_MAX_AGE_S: '0' });
    const number = await storedBefore(3500);
    expect((await look(number, hourly)).body.data.title).toBe('old');
    await setAge(api.sql, number, 3600);
    expect((await look(number, hourly)).body.data.title).toBe('new');
    for (let i = 3; i < 6; i++) {
      expect((await look(number, always)).status).toBe(200);
      expect(asked(number)).toBe(i);
    }
    await Promise.all([hourly.stop(), always.stop()]);
  });

  test('a refresh is stored before it is answered', async () => {
    const number = nif(next++);
    api.provider.answer(number, nifPtFound(number, { title: 'stored first' }));
    const table = await api.sql.reserve();
    try {
      await table`BEGIN`;
      await table`LOCK TABLE companies IN EXCLUSIVE MODE`;
      const answer = look(number);
      let answered = false;
      void answer.then(() => {
        answered = true;
      });
      await until('the question', () => asked(number) === 1);
      await waitingForLock(api.sql, 1);
      expect(answered).toBe(false);
      await table`COMMIT`;
      expect((await answer).body.data.title).toBe('stored first');
    } finally {
      table.release();
    }
  });
});

test('debts are joined as they are when the record is read, whatever the age of the record', async () => {
  const number = await storedBefore(0);
  const other = await storedBefore(0);
  const debtsOf = async (of: string) => {
    const { tax_debt, social_security_debt } = (await look(of)).body.data;
    return [tax_debt, social_security_debt];
  };
  await importBrackets(api.database, { [number]: [7500, 25_000] });
  const tax = { start: 7500, end: 25_000, last_updated: '2026-10-31' };
  expect(await debtsOf(number)).toEqual([tax, null]);
  await importBrackets(
    api.database,
    { [number]: [5_000_001, null] },
    { kind: 'social-security', date: '2026-09-01' },
  );
  expect(await debtsOf(number)).toEqual([tax, { start: 5_000_001, end: null, last_updated: '2026-09-01' }]);
  expect(await debtsOf(other)).toEqual([null, null]);
  await setAge(api.sql, number, SIX_DAYS_S);
  expect((await look(number)).body.data).toMatchObject({ title: 'new', tax_debt: tax });
});
