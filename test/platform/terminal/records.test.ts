import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createCommandLine } from '../../support/command.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { storeRecord } from '../../support/records.ts';

let database: TestDatabase;
let cli: ReturnType<typeof createCommandLine>;
beforeAll(async () => {
  database = await createTestDatabase('cli_records');
  cli = createCommandLine(database.url);
});
afterAll(() => database.drop());

const NIF = '500002576';

const store = (title: string) => storeRecord(database.sql, NIF, title, new Date('2026-11-20T10:00:00.5Z'));

test('companies show answers the stored record with fetchedAt and source', async () => {
  await store('Ábaco, Lda');
  expect(await cli.json('companies', 'show', '500 002.576')).toEqual({
    nif: 500002576,
    title: 'Ábaco, Lda',
    address: 'Rua A',
    zipcode: '1000-001',
    city: 'Lisboa',
    activity: '',
    status: 'active',
    cae: '62010',
    structure: { nature: 'LDA', capital: '5000.00', capital_currency: 'EUR' },
    tax_debt: null,
    social_security_debt: null,
    fetchedAt: '2026-11-20T10:00:00.500Z',
    source: 'nif.pt',
  });
});

test('companies forget answers {nif, forgotten}, and then there is nothing to show', async () => {
  await store('Ábaco, Lda');
  expect(await cli.json('companies', 'forget', NIF)).toEqual({ nif: NIF, forgotten: true });
  expect(await cli.json('companies', 'forget', NIF)).toEqual({ nif: NIF, forgotten: false });
  expect(await cli.refusal('companies', 'show', NIF, '--json')).toEqual({
    code: 1,
    stderr: `error: no record of ${NIF} is stored\n`,
  });
});

test('a NIF of a bad check digit, or none at all, is wrong usage', async () => {
  for (const nif of ['500002577', '50000257', 'PT500002577', '']) {
    expect([nif, (await cli.refusal('companies', 'show', nif)).code]).toEqual([nif, 2]);
    expect([nif, (await cli.refusal('companies', 'forget', nif)).code]).toEqual([nif, 2]);
  }
});

test('control characters of a record reach no terminal, with --json and without', async () => {
  const title = 'a\u001b[31m\u009b2J\u202eb';
  await store(title);
  for (const words of [[], ['--json']]) {
    const { stdout } = await cli.run('companies', 'show', NIF, ...words);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(JSON.parse(stdout).title).toBe(title);
  }
});

test('migrate answers {applied}, in order, and nothing the second time', async () => {
  const empty = await createEmptyDatabase('cli_migrate');
  try {
    const cli = createCommandLine(empty.url);
    const { applied } = await cli.json('migrate');
    expect(applied.slice(0, 2)).toEqual(['0001_accounts', '0002_companies']);
    expect(applied).toEqual([...applied].sort());
    expect(await cli.json('migrate')).toEqual({ applied: [] });
  } finally {
    await empty.drop();
  }
});
