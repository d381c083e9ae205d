/** POST /debts and POST /debts/changes over HTTP: every sentence of docs/api.md about them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { purgeChanges } from '../../src/companies/debts/changes/changes-purge.ts';
import { DAY } from '../../src/platform/units.ts';
import { type Amounts, debtsFile, importBrackets } from '../companies/debts/debts-support.ts';
import { PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { digestOf } from '../support/digest.ts';

const LOW: Amounts = [7500, 25_000];
const HIGH: Amounts = [1_000_000, null];
const [TAX, BOTH, SOCIAL, CLEAN, LATER] = [nif(1), nif(2), nif(3), nif(4), nif(5)];
const NONE = { tax_debt: null, social_security_debt: null };
const TAX_DEBT = { start: 7500, end: 25_000, last_updated: '2026-10-31' };
/** NIFs of a natural person, of each kind that there is. */
const NATURAL = ['123456789', '234567899', '300000006', '450000001'];

const api = await startApi();
const { key, accountId } = await api.caller(PLENTY);
afterAll(() => api.stop());

const changes = (json: unknown, by = key) => ask(api, '/debts/changes', { key: by, json });
type Change = { id: string; nif: string; kind: string; change: string };
const briefly = (body: { data: Change[] }) =>
  body.data.map(({ nif, kind, change }) => `${kind} ${nif} ${change}`);
const numberOf = (id: string) => Number(id.slice('chg_'.length));
const used = async (of = accountId) => (await api.ledger({ accountId: of })).used;
/** The cursor behind all changes there are. */
const head = async (): Promise<string> => {
  const { body } = await changes({ after: null, nifs: [nif(999)] });
  return body.next;
};
const companies = (from: number, to: number, amounts: Amounts) =>
  Object.fromEntries(Array.from({ length: to - from }, (_, n) => [nif(from + n), amounts]));

const screen = (nifs: string[], by = key) => ask(api, '/debts', { key: by, json: { nifs } });

test('before any dataset was imported, every bracket and both dates are null', async () => {
  const { status, body } = await screen([CLEAN]);
  expect(status).toBe(200);
  expect(body).toEqual({
    data: [{ nif: CLEAN, status: 200, debts: NONE }],
    datasets: { tax: null, social_security: null },
    files: { tax: null, social_security: null },
  });
});

test('without any change the answer is empty, has a `next`, and costs one credit', async () => {
  const before = await used();
  const { status, body } = await changes({ after: null });
  expect([status, body]).toEqual([200, { data: [], next: 'chg_0', more: false }]);
  expect((await used()) - before).toBe(1);
});

test('the first dataset of a kind writes no change, and neither does one that is imported twice', async () => {
  const dataset = { [nif(1)]: LOW, [nif(2)]: LOW, [nif(3)]: HIGH };
  for (const kind of ['tax', 'social-security'] as const) {
    expect(await importBrackets(api.database, dataset, { kind })).toMatchObject({
      ...{ appeared: 0, changed: 0, ended: 0 },
    });
    expect(await importBrackets(api.database, dataset, { kind, date: '2026-11-01' })).toMatchObject({
      ...{ appeared: 0, changed: 0, ended: 0 },
    });
  }
  expect((await changes({ after: 'chg_0' })).body).toEqual({ data: [], next: 'chg_0', more: false });
});

test('a change says what was before and since when, in the order in which they were written', async () => {
  const since = Date.now();
  const dataset = { [nif(1)]: LOW, [nif(2)]: HIGH, [nif(4)]: LOW };
  const report = await importBrackets(api.database, dataset, { date: '2026-11-10' });
  expect(report).toMatchObject({ appeared: 1, changed: 1, ended: 1, removed: 1 });
  const { body } = await changes({ after: 'chg_0' });
  const first = numberOf(body.data[0].id);
  expect(first).toBeWithin((since - 1000) * 1000, (Date.now() + 1000) * 1000);
  const [low, high] = [
    { start: 7500, end: 25_000 },
    { start: 1_000_000, end: null },
  ];
  const expected = [
    { nif: nif(2), change: 'changed', before: low, after: high },
    { nif: nif(3), change: 'ended', before: high, after: null },
    { nif: nif(4), change: 'appeared', before: null, after: low },
  ];
  expect(body).toEqual({
    data: expected.map((change, index) => ({
      id: `chg_${first + index}`,
      at: expect.any(String),
      kind: 'tax',
      date: '2026-11-10',
      ...change,
    })),
    next: `chg_${first + 2}`,
    more: false,
  });
  const [{ at }] = body.data;
  expect(new Date(at).toISOString()).toBe(at);
  expect(Date.parse(at)).toBeWithin(since - 1000, Date.now() + 1000);
});

test('natural persons are in the dataset and in no change', async () => {
  const after = await head();
  const dataset = { [nif(1)]: LOW, [nif(2)]: HIGH, [nif(4)]: LOW };
  const persons = Object.fromEntries(NATURAL.map((person) => [person, LOW]));
  expect(await importBrackets(api.database, { ...dataset, ...persons })).toMatchObject({
    imported: 7,
    appeared: 0,
  });
  const changed = Object.fromEntries(NATURAL.map((person) => [person, HIGH]));
  expect(await importBrackets(api.database, { ...dataset, ...changed })).toMatchObject({ changed: 0 });
  expect(await importBrackets(api.database, dataset)).toMatchObject({ removed: 4, ended: 0 });
  expect((await changes({ after })).body.data).toEqual([]);
});

describe('with changes of both kinds', () => {
  let start: string;
  beforeAll(async () => {
    start = await head();
    await importBrackets(api.database, { [nif(1)]: HIGH, [nif(5)]: LOW });
    await importBrackets(api.database, { [nif(1)]: HIGH, [nif(6)]: LOW }, { kind: 'social-security' });
    await importBrackets(api.database, { [nif(5)]: LOW });
  });

  test('`kinds` and `nifs` leave the others out; a NIF that stands there twice has each change once', async () => {
    const all = [
      `tax ${nif(1)} changed`,
      `tax ${nif(2)} ended`,
      `tax ${nif(4)} ended`,
      `tax ${nif(5)} appeared`,
      `social_security ${nif(1)} changed`,
      `social_security ${nif(2)} ended`,
      `social_security ${nif(3)} ended`,
      `social_security ${nif(6)} appeared`,
      `tax ${nif(1)} ended`,
    ];
    const asked = async (more: object) => briefly((await changes({ after: start, ...more })).body);
    expect(await asked({})).toEqual(all);
    expect(await asked({ kinds: ['social_security', 'tax'] })).toEqual(all);
    expect(await asked({ kinds: ['tax'] })).toEqual(all.filter((line) => line.startsWith('tax')));
    const [first, spaced] = [nif(1), `${nif(6).slice(0, 3)} ${nif(6).slice(3)}`];
    const followed = all.filter((line) => line.includes(nif(1)) || line.includes(nif(6)));
    expect(await asked({ nifs: [first, spaced, first] })).toEqual(followed);
    expect(await asked({ nifs: [first, spaced], kinds: ['social_security'] })).toEqual([
      `social_security ${nif(1)} changed`,
      `social_security ${nif(6)} appeared`,
    ]);
    expect(await asked({ nifs: [nif(999)] })).toEqual([]);
  });

  test('an answer that has nothing of its companies goes on behind all changes, so that its cursor does not expire', async () => {
    const { body } = await changes({ after: start, nifs: [nif(99)] });
    expect(body).toEqual({ data: [], next: await head(), more: false });
    expect(body.next).not.toBe(start);
  });

  test('each change costs a credit; with credits for some the answer has those, and `more`', async () => {
    const poor = await api.caller({ ...PLENTY, included: 2, credits: 2 });
    const all = briefly((await changes({ after: start })).body);
    const some = await changes({ after: start }, poor.key);
    expect([some.status, some.body.more, briefly(some.body)]).toEqual([200, true, all.slice(0, 4)]);
    expect(some.body.next).toBe(some.body.data[3].id);
    expect(await api.ledger(poor)).toEqual({ used: 4, credits: 0 });

    const none = await changes({ after: some.body.next }, poor.key);
    expect([none.status, none.kind]).toEqual([429, 'monthly-quota-exceeded']);
    expect(await api.ledger(poor)).toEqual({ used: 4, credits: 0 });
    await api.command('account', 'credits', poor.accountId, '--add', '50');
    const rest = await changes({ after: some.body.next }, poor.key);
    expect([rest.body.more, briefly(rest.body)]).toEqual([false, all.slice(4)]);
    expect((await used(poor.accountId)) - 4).toBe(all.length - 4);
  });
});

test('250 changes are three pages, each from the `next` of the one before, with a filter too', async () => {
  const start = await head();
  await importBrackets(api.database, { [nif(5)]: LOW, ...companies(1000, 1250, LOW) });
  const nifs = Array.from({ length: 1000 }, (_, n) => nif(1000 + n));
  for (const filter of [{}, { nifs }, { kinds: ['tax'] }]) {
    const ids: string[] = [];
    const pages: [number, boolean][] = [];
    let next = start;
    do {
      const { body } = await changes({ after: next, ...filter });
      pages.push([body.data.length, body.more]);
      ids.push(...body.data.map(({ id }: Change) => id));
      next = body.next;
    } while (pages.at(-1)![1]);
    expect(pages).toEqual([
      [100, true],
      [100, true],
      [50, false],
    ]);
    const first = numberOf(ids[0]!);
    expect(first).toBeGreaterThan(numberOf(start));
    expect(ids).toEqual(Array.from({ length: 250 }, (_, n) => `chg_${first + n}`));
    expect(next).toBe(ids.at(-1)!);
  }
});

test('a cursor that was never given out, and a NIF that is not valid, are validations that cost a credit', async () => {
  const before = await used();
  for (const after of ['chg_9999999999999999', `chg_${(Date.now() + DAY) * 1000}`])
    expect((await changes({ after })).kind).toBe('validation');
  const { kind, body } = await changes({ after: null, nifs: [nif(1), '500002577'] });
  expect([kind, body.detail]).toEqual(['validation', expect.stringContaining('number 2')]);
  expect((await used()) - before).toBe(3);
});

test('a cursor before changes that are no longer kept is a 410 that costs nothing, and `oldest` goes on', async () => {
  const all = (await changes({ after: null })).body.data;
  const [fourth, fifth] = [all[3].id, all[4].id];
  await api.sql`UPDATE debt_changes SET at = at - interval '90 days' WHERE number <= ${numberOf(fifth)}`;
  const kept = (await changes({ after: fifth })).body;
  expect(await purgeChanges(api.sql, 2)).toBe(5);
  expect(await purgeChanges(api.sql, 2)).toBe(0);

  const before = await used();
  for (const body of [{ after: 'chg_0' }, { after: fourth, nifs: [nif(1)], kinds: ['tax'] }]) {
    const { status, kind, body: problem } = await changes(body);
    expect([status, kind, problem.oldest]).toEqual([410, 'changes-expired', fifth]);
  }
  const poor = await api.caller({ ...PLENTY, included: 0 });
  expect((await changes({ after: fourth }, poor.key)).status).toBe(410);
  expect(await used()).toBe(before);
  expect((await changes({ after: fifth })).body).toEqual(kept);
  expect((await changes({ after: null })).body).toEqual(kept);
});

describe('with both datasets', () => {
  const tax: Record<string, Amounts> = { [TAX]: LOW, [BOTH]: HIGH };
  const social: Record<string, Amounts> = { [SOCIAL]: [0, 0], [BOTH]: [5, Number.MAX_SAFE_INTEGER] };
  beforeAll(async () => {
    await importBrackets(api.database, tax);
    await importBrackets(api.database, social, { kind: 'social-security', date: '2026-11-02' });
  });

  test('the answer has one element an item, in the order asked, repeated NIFs too, and the date of each dataset; no source is asked', async () => {
    const { accountId, key: own } = await api.caller(PLENTY);
    const { status, headers, body } = await screen([CLEAN, BOTH, TAX, SOCIAL, TAX], own);
    expect([status, headers.get('Content-Type')]).toEqual([200, 'application/json']);
    const ofSocial = (start: number, end: number) => ({ start, end, last_updated: '2026-11-02' });
    expect(body).toEqual({
      data: [
        { nif: CLEAN, status: 200, debts: NONE },
        {
          nif: BOTH,
          status: 200,
          debts: {
            tax_debt: { start: 1_000_000, end: null, last_updated: '2026-10-31' },
            social_security_debt: ofSocial(5, Number.MAX_SAFE_INTEGER),
          },
        },
        { nif: TAX, status: 200, debts: { ...NONE, tax_debt: TAX_DEBT } },
        { nif: SOCIAL, status: 200, debts: { ...NONE, social_security_debt: ofSocial(0, 0) } },
        { nif: TAX, status: 200, debts: { ...NONE, tax_debt: TAX_DEBT } },
      ],
      datasets: { tax: '2026-10-31', social_security: '2026-11-02' },
      files: {
        tax: digestOf(debtsFile(tax)),
        social_security: digestOf(debtsFile(social)),
      },
    });
    expect(await api.ledger({ accountId })).toEqual({ used: 5, credits: 0 });
    expect(await api.sql`SELECT FROM account_refreshes WHERE account_id = ${accountId}`).toHaveLength(0);
    expect(api.provider.lookups()).toEqual([]);
  });

  test('an import is in the next answer, with its date', async () => {
    await importBrackets(api.database, { [TAX]: [7500, 25_000], [LATER]: [1, 2] }, { date: '2026-11-10' });
    const { body } = await screen([TAX, LATER, BOTH]);
    const dated = { last_updated: '2026-11-10' };
    expect(body.data[0].debts.tax_debt).toEqual({ ...TAX_DEBT, ...dated });
    expect(body.data[1].debts.tax_debt).toEqual({ start: 1, end: 2, ...dated });
    expect(body.data[2].debts.tax_debt).toBeNull();
    expect(body.datasets).toEqual({ tax: '2026-11-10', social_security: '2026-11-02' });
  });
});
