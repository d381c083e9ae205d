import { afterAll, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { DAY } from '../../../src/platform/units.ts';
import { createCommandLine } from '../../support/command.ts';
import { nif } from '../../support/companies.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createFolder } from '../../support/folder.ts';
import { waitingForLock } from '../../support/locks.ts';
import { importDebtsText } from './debts-support.ts';

const database = await createTestDatabase('debts');
const folder = createFolder('debts');
beforeEach(async () => {
  await database.sql`DELETE FROM debts`;
  await database.sql`DELETE FROM debt_datasets`;
});
afterAll(() => database.drop());

async function importText(text: string, options?: Parameters<typeof importDebtsText>[2]) {
  const { read, imported, rejected, removed } = await importDebtsText(database, text, options);
  return { read, imported, rejected, removed };
}

async function stored(): Promise<unknown[]> {
  const rows = await database.sql`
    SELECT kind, nif, start_amount AS start, end_amount AS end, dataset_date::text AS date
    FROM debts JOIN debt_datasets USING (kind) ORDER BY kind, nif`;
  return rows.map((row) => ({ ...row }));
}

test('brackets are stored with the date of their dataset; an empty or null end is open-ended', async () => {
  const text = `nif,start,end\n${nif(1)},1000,9007199254740991\n${nif(2)},1000000,\n${nif(3)},0,0\n${nif(4)},7500,null\n`;
  expect(await importText(text)).toEqual({ read: 4, imported: 4, rejected: 0, removed: 0 });
  expect(await stored()).toEqual([
    { kind: 'tax', nif: nif(1), start: 1000, end: Number.MAX_SAFE_INTEGER, date: '2026-10-31' },
    { kind: 'tax', nif: nif(2), start: 1_000_000, end: null, date: '2026-10-31' },
    { kind: 'tax', nif: nif(3), start: 0, end: 0, date: '2026-10-31' },
    { kind: 'tax', nif: nif(4), start: 7500, end: null, date: '2026-10-31' },
  ]);
});

test('an import replaces the whole dataset of its kind, and leaves the other one', async () => {
  await importText(`nif,start,end\n${nif(1)},1,2\n${nif(2)},1,2\n`);
  await importText(`nif;start;end\n${nif(1)};5;6\n`, { kind: 'social-security', date: '2026-09-30' });
  const next = await importText(`nif,start,end\n${nif(2)},3,4\n`, { date: '2026-11-01', force: 1 });
  expect(next).toEqual({ read: 1, imported: 1, rejected: 0, removed: 1 });
  expect(await stored()).toEqual([
    { kind: 'social-security', nif: nif(1), start: 5, end: 6, date: '2026-09-30' },
    { kind: 'tax', nif: nif(2), start: 3, end: 4, date: '2026-11-01' },
  ]);
});

test('brackets that are upside down or not whole amounts are rejected, and of a NIF the last row counts', async () => {
  const rejects = join(folder, 'rejects.csv');
  const rows = [
    `${nif(1)},10,20`,
    `${nif(2)},20,10`,
    `${nif(3)},1.5,2`,
    `${nif(4)},-1,2`,
    `${nif(5)},,2`,
    `${nif(6)},1,2 000`,
    `${nif(7)},1,9007199254740992`,
    `${nif(8)},1e3,`,
    `123456780,1,2`,
    `${nif(1)},30,40`,
  ];
  expect(await importText(`nif,start,end\n${rows.join('\n')}\n`, { rejects })).toEqual({
    read: 10,
    imported: 1,
    rejected: 9,
    removed: 0,
  });
  expect(await stored()).toMatchObject([{ nif: nif(1), start: 30, end: 40 }]);
  const lines = (await Bun.file(rejects).text()).trimEnd().split('\n').slice(1);
  expect(lines.map((line) => line.split(',').slice(0, 2).join(' '))).toEqual([
    '2 "NIF comes again later in the file"',
    '3 "bracket upside down"',
    '4 "start is not a whole amount"',
    '5 "start is not a whole amount"',
    '6 "start is not a whole amount"',
    '7 "end is not a whole amount"',
    '8 "end is not a whole amount"',
    '9 "start is not a whole amount"',
    '10 "NIF has a wrong check digit"',
  ]);
});

/** Brackets of companies `from` to `to` (exclusive). */
const brackets = (from: number, to: number) =>
  `nif,start,end\n${Array.from({ length: to - from }, (_, i) => `${nif(from + i)},1,\n`).join('')}`;

const inDays = (days: number) => new Date(Date.now() + days * DAY).toISOString().slice(0, 10);
const cut = (kept: number) =>
  `the file has ${kept} of the 100 companies of the tax dataset, under 90%: nothing has changed`;

test.each<[what: string, text: string, date: string, message: string]>([
  ['under 90% of its companies', brackets(0, 89), '2026-10-31', cut(89)],
  // For example the file of the other kind.
  ['as many rows, but of other companies', brackets(11, 111), '2026-10-31', cut(89)],
  ['none of its companies', brackets(100, 300), '2026-10-31', cut(0)],
  [
    'an earlier date',
    brackets(0, 120),
    '2026-10-30',
    'the tax dataset is of 2026-10-31, later than 2026-10-30: nothing has changed',
  ],
  [
    'a date after tomorrow',
    brackets(0, 120),
    inDays(3),
    `${inDays(3)} is after tomorrow: nothing has changed; --force imports the dataset of that date`,
  ],
])('a file with %s is refused without force, in a dry run too', async (_, text, date, message) => {
  await importText(brackets(0, 100));
  const before = await stored();
  for (const dryRun of [false, true])
    await expect(importText(text, { date, dryRun })).rejects.toThrow(message);
  const dry = await importText(text, { date, dryRun: true, force: 1 });
  expect(await stored()).toEqual(before);
  expect(await importText(text, { date, force: 1 })).toEqual(dry);
  expect(await stored()).toContainEqual(expect.objectContaining({ date }));
  expect(await stored()).toHaveLength(dry.imported);
});

test.each<[what: string, text: string, options: Parameters<typeof importText>[1], removed: number]>([
  ['90% of its companies, and the same date', brackets(10, 100), {}, 10],
  ["tomorrow's date", brackets(0, 100), { date: inDays(1) }, 0],
  ['another kind', brackets(0, 2), { kind: 'social-security', date: '2026-10-30' }, 0],
])('a file with %s is not refused', async (_, text, options, removed) => {
  await importText(brackets(0, 100));
  expect(await importText(text, options)).toMatchObject({ removed });
});

test('a refused file says what its import would announce; a file that is older, too, needs `--force` twice', async () => {
  const { run, json } = createCommandLine(database.url);
  await importText(brackets(0, 100));
  const file = join(folder, 'cut-off.csv');
  await Bun.write(
    file,
    `${brackets(0, 60).replace(',1,', ',2,')}${brackets(200, 205).slice('nif,start,end\n'.length)}`,
  );
  const words = ['debts', 'import', file, '--kind', 'tax', '--date', '2026-10-30'];
  const announced = 'appeared 5, changed 1, ended 40';
  const outcomes = [];
  for (const forces of [[], ['--force'], ['--force', '--dry-run', '--force']]) {
    const { code, stderr } = await run(...words, ...forces);
    outcomes.push([code, stderr.includes('later than 2026-10-30'), stderr.includes(announced)]);
  }
  expect(outcomes).toEqual([
    [1, true, false],
    [1, false, true],
    [0, false, false],
  ]);
  expect((await run(...words, '--force')).stderr).toContain('one more --force');
  expect(await stored()).toHaveLength(100);
  const report = await json(...words, '--force', '--force');
  expect(report).toMatchObject({ imported: 65, removed: 40, appeared: 5, changed: 1, ended: 40 });
});

test('a dry run tells what an import would do, and writes the rejects', async () => {
  await importText(brackets(0, 20));
  const rejects = join(folder, 'dry.csv');
  const before = await stored();
  const outcome = await importText(`${brackets(1, 25)}1,1,1\n`, {
    dryRun: true,
    rejects,
    date: '2026-11-01',
  });
  expect(outcome).toEqual({ read: 25, imported: 24, rejected: 1, removed: 1 });
  expect(await stored()).toEqual(before);
  expect(await Bun.file(rejects).text()).toBe('line,reason,row\n26,"NIF is not nine digits","1,1,1"\n');
});

test('two imports at once take turns: the later one is compared with what the first has stored', async () => {
  await importText(`nif,start,end\n${nif(1)},1,\n`, { date: '2026-09-30' });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
  const first = database.sql.begin(async (sql) => {
    await sql`UPDATE debt_datasets SET dataset_date = '2026-11-15'`;
    lock();
    await released;
  });
  await locked;
  const later = importText(`nif,start,end\n${nif(1)},2,\n`);
  later.catch(() => {});
  await waitingForLock(database.sql, 1);
  release();
  await first;
  await expect(later).rejects.toThrow('the tax dataset is of 2026-11-15, later than 2026-10-31');
});
