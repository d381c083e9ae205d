/** The metrics of the data's age, of imports and backups, and of the items of lists. */
import { afterAll, expect, test } from 'bun:test';
import { call } from '../support/client.ts';
import { createCommandLine } from '../support/command.ts';
import { csv, nif } from '../support/companies.ts';
import { createFolder } from '../support/folder.ts';
import { callTool } from '../support/mcp.ts';
import { readMetrics } from '../support/metrics.ts';
import { createCaller, createTestKey, startTestService } from '../support/service.ts';

const service = await startTestService({ env: { EXPECT_IMPORTS_DAYS: '2' } });
afterAll(() => service.stop());
const folder = createFolder('data-age');
const { run, json } = createCommandLine(service.databaseUrl);

/** The series of `/metrics` whose names begin so. */
async function series(prefix: string): Promise<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(await readMetrics(service)).filter(([name]) => name.startsWith(prefix)),
  );
}

const write = async (name: string, text: string) => {
  await Bun.write(`${folder}/${name}`, text);
  return `${folder}/${name}`;
};

test('before the first import the directory has no age but a bound on it, and nothing else has figures', async () => {
  expect(await series('directory_')).toEqual({
    directory_companies: 0,
    directory_updated_timestamp_seconds: 0,
    directory_generations: 1,
  });
  expect(await series('expect_')).toEqual({ expect_imports_seconds: 172_800 });
  expect(await series('debts_')).toEqual({});
  expect(await series('command_')).toEqual({});
});

test('an import and a backup show when they succeeded and how long they took; a failed one shows that', async () => {
  const beforeS = Math.floor(Date.now() / 1000);
  await json('companies', 'import', await write('names.csv', csv(0, 5)));
  await json(
    'debts',
    'import',
    await write('debts.csv', `nif,start,end\n${nif(1)},1,2\n`),
    '--kind',
    'tax',
    '--date',
    '2026-10-31',
  );
  await json('backup', `${folder}/directory.backup`);
  const directory = await series('directory_');
  expect(directory.directory_companies).toBe(5);
  expect(directory.directory_updated_timestamp_seconds).toBeGreaterThanOrEqual(beforeS);
  expect(await series('debts_')).toEqual({
    'debts_companies{kind="tax"}': 1,
    'debts_date_timestamp_seconds{kind="tax"}': Date.UTC(2026, 9, 31) / 1000,
  });
  const commands = ['backup', 'companies import', 'debts import tax'];
  const failed = await series('command_failed');
  expect(failed).toEqual(Object.fromEntries(commands.map((one) => [`command_failed{command="${one}"}`, 0])));
  for (const figure of ['succeeded_timestamp_seconds', 'duration_seconds']) {
    const found = await series(`command_${figure}`);
    expect(Object.keys(found).toSorted()).toEqual(
      commands.map((one) => `command_${figure}{command="${one}"}`),
    );
    for (const value of Object.values(found))
      expect(value).toBeGreaterThanOrEqual(figure === 'duration_seconds' ? 0 : beforeS);
  }

  const succeeded = await series('command_succeeded');
  expect((await run('companies', 'import', await write('bad.csv', 'nif,legal_name\n1,x\n'))).code).toBe(1);
  expect((await series('command_failed'))['command_failed{command="companies import"}']).toBe(1);
  expect(await series('command_succeeded')).toEqual(succeeded);
  expect((await run('companies', 'import', `${folder}/bad.csv`, '--dry-run')).code).toBe(1);
  await json('companies', 'import', `${folder}/names.csv`);
  expect((await series('command_failed'))['command_failed{command="companies import"}']).toBe(0);

  // A dry run is no import.
  const before = await series('command_');
  await json('companies', 'import', `${folder}/names.csv`, '--dry-run');
  expect(await series('command_')).toEqual(before);
});

test('each item of a list counts by its status, of requests and of tools; those of test keys do not', async () => {
  const { accountId, key } = await createCaller(service.sql);
  const items = async () => {
    const found = await series('list_items_total{route="/api/v1/debts"');
    return ['200', '400'].map(
      (status) => found[`list_items_total{route="/api/v1/debts",status="${status}"}`],
    );
  };
  expect(await items()).toEqual([0, 0]);
  const json = { nifs: [nif(1), nif(2), 'none'] };
  expect((await call(service.url, '/debts', { key, json })).status).toBe(200);
  expect(await items()).toEqual([2, 1]);
  expect((await callTool(service, 'check_debts', { nifs: [nif(1)] }, { key })).status).toBe(200);
  expect(await items()).toEqual([3, 1]);
  const testKey = await createTestKey(service.sql, accountId);
  expect((await call(service.url, '/debts', { key: testKey, json })).status).toBe(200);
  expect(await items()).toEqual([3, 1]);
});
