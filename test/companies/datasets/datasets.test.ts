/** The datasets with their dates, sizes and hashes. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { createDatasetsHandler } from '../../../src/companies/datasets/datasets-route.ts';
import { createDatasetsReader, readDatasets } from '../../../src/companies/datasets/datasets-store.ts';
import { importDebts } from '../../../src/companies/debts/debts-import.ts';
import { createScreen } from '../../../src/companies/debts/debts-store.ts';
import type { DebtKind } from '../../../src/companies/debts/kind.ts';
import { importCompanies } from '../../../src/companies/directory/directory-import.ts';
import type { RowSource } from '../../../src/companies/ingest/source.ts';
import { csv, nif } from '../../support/companies.ts';
import { digestOf } from '../../support/digest.ts';
import { runHandler } from '../../support/handler.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';
import { importDebtsText } from '../debts/debts-support.ts';

const SHA256 = /^[0-9a-f]{64}$/;
/** As an export writes them. */
const [FIRST, SECOND] = [nif(1), nif(2)].sort();
const SORTED = `nif,start,end\n${FIRST},5000,25000\n${SECOND},25001,\n`;

let bench: Workbench;
beforeEach(async () => {
  bench = await createWorkbench('postgres');
});
afterEach(() => bench.close());
const directory = async () => (await readDatasets(bench.tools.sql)).directory;
const answer = async () => {
  const handler = createDatasetsHandler({ readDatasets: createDatasetsReader(bench.tools.sql) });
  const answer = await runHandler(handler, {});
  if (!answer.ok) throw new Error(answer.problem.kind);
  return JSON.parse(answer.json);
};

test('nothing was imported: no companies, no date, no debts', async () => {
  const directory = { companies: 0, updated: null, last_file: null, rows: null };
  const nothing = { data: { directory, debts: { tax: null, social_security: null } }, error: null };
  expect(await answer()).toEqual(nothing);
  await bench.rebuild();
  expect(await answer()).toEqual(nothing);
});

test('an import says when, who and what file; a rebuild does not change that; a rollback returns to it', async () => {
  const from = Date.now() - 1_000;
  await bench.importText(csv(0, 30), {}, 'first.csv');
  const first = await directory();
  const lastFile = digestOf(csv(0, 30));
  expect(first).toEqual({
    ...{ companies: 30, updated: expect.any(Date), by: 'test', file: 'first.csv' },
    ...{ lastFile, rows: expect.stringMatching(SHA256) },
  });
  expect(first.updated!.getTime()).toBeWithin(from, Date.now() + 1_000);
  expect((await answer()).data.directory).toEqual({
    companies: 30,
    updated: first.updated!.toISOString(),
    last_file: lastFile,
    rows: first.rows,
  });
  await bench.rebuild();
  expect(await directory()).toEqual(first);

  await bench.importText(csv(0, 35), {}, 'second.csv');
  const second = await directory();
  expect(second).toMatchObject({ companies: 35, file: 'second.csv' });
  expect(second.updated!.getTime()).toBeGreaterThan(first.updated!.getTime());
  await bench.rollback();
  expect(await directory()).toEqual(first);
});

test('an import of the same rows says that the directory is as of now', async () => {
  await bench.importText(csv(0, 30), {}, 'before.csv');
  const before = await directory();
  expect((await bench.importText(csv(0, 30), { replace: true }, 'again.csv')).imported).toBe(0);
  const again = await directory();
  expect(again).toMatchObject({ companies: 30, file: 'again.csv' });
  expect(again.updated!.getTime()).toBeGreaterThan(before.updated!.getTime());
  await bench.importText(csv(0, 50), { dryRun: true }, 'dry.csv');
  expect(await directory()).toEqual(again);
});

test('a generation of the version before counts from when it was created', async () => {
  const { sql } = bench.tools;
  await bench.importText(csv(0, 30));
  await sql`UPDATE directory_generations SET loaded_at = NULL, loaded_by = NULL, loaded_file = NULL`;
  const [row] =
    await sql`SELECT created_at FROM directory_generations WHERE id = (SELECT current FROM directory)`;
  expect(await directory()).toEqual({
    ...{ companies: 30, updated: row!.created_at, by: 'test', file: null, lastFile: null },
    rows: expect.stringMatching(SHA256),
  });
});

test('each kind of debts has its own date, number of companies and file', async () => {
  const rows = expect.stringMatching(SHA256);
  const importText = async (kind: DebtKind, date: string, text: string) => {
    await importDebtsText(bench.database, text, { kind, date });
    return { date, companies: text.split('\n').length - 2, file: digestOf(text), rows };
  };
  const tax = await importText('tax', '2026-10-31', SORTED);
  expect((await answer()).data.debts).toEqual({ tax, social_security: null });
  const other = await importText('social-security', '2026-11-01', `nif,start,end\n${FIRST},5000,25000\n`);
  expect((await answer()).data.debts).toEqual({ tax, social_security: other });
  const { debts } = await readDatasets(bench.tools.sql);
  expect(debts.tax).toMatchObject({ imported: expect.any(Date), by: 'test' });
});

/** In another order and form. */
const SHUFFLED = `NIF;END;START\r\n${SECOND};null;25001\r\n${FIRST};25000;5000\r\n`;

const stdin = (bytes: Uint8Array): RowSource => ({ stdin: new Blob([new Uint8Array(bytes)]).stream() });
const importTax = async (source: RowSource, date = '2026-10-31') =>
  importDebts(bench.tools, source, { kind: 'tax', date }, NO_PROGRESS);
const tax = async () => (await readDatasets(bench.tools.sql)).debts.tax;

test('`file` is the bytes as read, packed or through a pipe, and `rows` those of an export, in whatever form they came', async () => {
  const rows = digestOf(SORTED).sha256;
  for (const content of [SORTED, SHUFFLED]) {
    for (const bytes of [Buffer.from(content), gzipSync(content)]) {
      await importTax(stdin(bytes));
      expect(await tax()).toMatchObject({ file: digestOf(bytes), rows });
      await importTax({ path: await bench.write(`tax.csv${bytes[0] === 0x1f ? '.gz' : ''}`, bytes) });
      expect(await tax()).toMatchObject({ file: digestOf(bytes), rows });
    }
  }
});

test('an import of 0.1.0, which keeps no hashes, and a refused one leave none of another file, also in an answer', async () => {
  const { sql } = bench.tools;
  const answered = async () => (await createScreen(sql)([FIRST!])).datasets.tax?.file;
  expect(await answered()).toBeUndefined();
  const path = await bench.write('tax.csv', SORTED);
  await importTax({ path });
  const before = await tax();
  expect(await answered()).toEqual(digestOf(SORTED));
  await expect(
    importTax({ path: await bench.write('cut.csv', `nif,start,end\n${FIRST},1,2\n`) }),
  ).rejects.toThrow('under 90%');
  expect(await tax()).toEqual(before);
  await sql.begin(async (sql) => {
    await sql`CREATE TEMPORARY TABLE staging ON COMMIT DROP AS SELECT nif, start_amount, end_amount FROM debts`;
    await sql`SELECT replace_debts('tax', '2026-11-01', 'old')`;
  });
  expect(await tax()).toMatchObject({ by: 'old', file: null, rows: null });
  expect(await answered()).toBeNull();
});

test('a directory has the last file and all rows; its export has the hash `rows`, also after its import and a rebuild', async () => {
  await bench.importText(csv(0, 30), {}, 'first.csv');
  await bench.importText(csv(20, 35), {}, 'second.csv');
  const { rows, ...both } = await directory();
  expect(both).toMatchObject({ companies: 35, lastFile: digestOf(csv(20, 35)) });
  const lines = (await bench.rows()).map((row) => `${row.slice(0, 9)},${row.slice(10)}\n`);
  const exported = `nif,legal_name\n${lines.join('')}`;
  expect(rows).toBe(digestOf(exported).sha256);
  await bench.rebuild();
  expect(await directory()).toEqual({ ...both, rows });
  await importCompanies({ ...bench.tools }, stdin(Buffer.from(exported)), { replace: true }, NO_PROGRESS);
  expect(await directory()).toMatchObject({ rows, lastFile: digestOf(exported) });
  // 0.1.0 confirms a load without a hash.
  await bench.tools
    .sql`UPDATE directory_generations SET loaded_at = clock_timestamp(), loaded_file = 'other.csv'`;
  expect(await directory()).toMatchObject({ rows, lastFile: null });
});
