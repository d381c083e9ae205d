import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createDatasetsHandler } from '../../../src/companies/datasets/datasets-route.ts';
import { createDatasetsReader, readDatasets } from '../../../src/companies/datasets/datasets-store.ts';
import { importDebts } from '../../../src/companies/debts/debts-import.ts';
import { csv, nif } from '../../support/companies.ts';
import { createTestDatabase } from '../../support/database.ts';
import { digestOf } from '../../support/digest.ts';
import { runHandler } from '../../support/handler.ts';
import { waitingForLock } from '../../support/locks.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { inOneTurn } from '../../support/stopped-clock.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

const SHA256 = /^[0-9a-f]{64}$/;

let bench: Workbench;
beforeEach(async () => {
  bench = await createWorkbench('postgres');
});
afterEach(() => bench.close());
const directory = async () => (await readDatasets(bench.tools.sql)).directory;
const answer = async () => {
  const answer = await runHandler(createDatasetsHandler(createDatasetsReader(bench.tools.sql)), {});
  if (!answer.ok) throw new Error(answer.problem.kind);
  return JSON.parse(answer.json);
};

test('nothing was imported: no companies, no date, no debts', async () => {
  expect(await answer()).toEqual({
    data: {
      directory: { companies: 0, updated: null, last_file: null, rows: null },
      debts: { tax: null, social_security: null },
    },
    error: null,
  });
  await bench.rebuild();
  expect((await answer()).data.directory).toEqual({
    ...{ companies: 0, updated: null, last_file: null, rows: null },
  });
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

test('each kind of debts has its own date and number of companies', async () => {
  const text = `nif,start,end\n${nif(1)},5000,25000\n${nif(2)},25001,\n`;
  const path = await bench.write('debts.csv', text);
  const options = { kind: 'tax' as const, date: '2026-10-31' };
  await importDebts(bench.tools, { path }, options, NO_PROGRESS);
  const rows = expect.stringMatching(SHA256);
  const tax = { date: '2026-10-31', companies: 2, file: digestOf(text), rows };
  expect((await answer()).data.debts).toEqual({ tax, social_security: null });
  const otherText = `nif,start,end\n${nif(1)},5000,25000\n`;
  const other = await bench.write('other.csv', otherText);
  const later = { kind: 'social-security' as const, date: '2026-11-01' };
  await importDebts(bench.tools, { path: other }, later, NO_PROGRESS);
  expect((await answer()).data.debts).toEqual({
    tax,
    social_security: { date: '2026-11-01', companies: 1, file: digestOf(otherText), rows },
  });
  expect((await readDatasets(bench.tools.sql)).debts.tax).toMatchObject({
    imported: expect.any(Date),
    by: 'test',
  });
});

test('a Postgres that does not answer is a 503 after the time of every request, and requests share its queries', async () => {
  await using database = await createTestDatabase('datasets');
  const { sql } = database;
  const handler = createDatasetsHandler(createDatasetsReader(sql));
  await sql.begin(async (transaction) => {
    await transaction`LOCK TABLE debt_datasets IN ACCESS EXCLUSIVE MODE`;
    const crowd = inOneTurn(() => Promise.all(Array.from({ length: 50 }, () => runHandler(handler, {}))));
    await waitingForLock(sql, 1);
    for (const answer of await crowd) {
      expect(answer).toMatchObject({ problem: { kind: 'service-unavailable' } });
    }
  });
  expect(await runHandler(handler, {})).toMatchObject({ ok: true });
});
