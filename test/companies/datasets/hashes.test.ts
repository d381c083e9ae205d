import { afterEach, beforeEach, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { readDatasets } from '../../../src/companies/datasets/datasets-store.ts';
import { importDebts } from '../../../src/companies/debts/debts-import.ts';
import { createScreen } from '../../../src/companies/debts/debts-store.ts';
import { importCompanies } from '../../../src/companies/directory/directory-import.ts';
import type { RowSource } from '../../../src/companies/ingest/source.ts';
import { csv, nif } from '../../support/companies.ts';
import { digestOf } from '../../support/digest.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

let bench: Workbench;
beforeEach(async () => {
  bench = await createWorkbench('postgres');
});
afterEach(() => bench.close());

/** As an export writes them. */
const [FIRST, SECOND] = [nif(1), nif(2)].sort();
const SORTED = `nif,start,end\n${FIRST},5000,25000\n${SECOND},25001,\n`;
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

test('an answer has the file of its brackets, of the same moment', async () => {
  const { sql } = bench.tools;
  const files = async () => (await createScreen(sql)([FIRST!])).files;
  expect(await files()).toEqual({});
  await importTax({ path: await bench.write('tax.csv', SORTED) });
  expect(await files()).toEqual({ tax: digestOf(SORTED) });
});

test('an import of 0.1.0, which keeps no hashes, and a refused one leave none of another file', async () => {
  const { sql } = bench.tools;
  const path = await bench.write('tax.csv', SORTED);
  await importTax({ path });
  const before = await tax();
  await expect(
    importTax({ path: await bench.write('cut.csv', `nif,start,end\n${FIRST},1,2\n`) }),
  ).rejects.toThrow('under 90%');
  expect(await tax()).toEqual(before);
  await sql.begin(async (sql) => {
    await sql`CREATE TEMPORARY TABLE staging ON COMMIT DROP AS SELECT nif, start_amount, end_amount FROM debts`;
    await sql`SELECT replace_debts('tax', '2026-11-01', 'old')`;
  });
  expect(await tax()).toMatchObject({ by: 'old', file: null, rows: null });
  expect((await createScreen(sql)([FIRST!])).files).toEqual({});
});

test('a directory has the last file and all rows; its export has the hash `rows`, also after its import and a rebuild', async () => {
  const directory = async () => (await readDatasets(bench.tools.sql)).directory;
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
