/** `companies export` and `debts export`: what they write is what the imports take. */
import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Glob } from 'bun';
import { importBrackets } from '../../companies/debts/debts-support.ts';
import { bareEnvironment, createCommandLine, ROOT, runCommand } from '../../support/command.ts';
import { nif } from '../../support/companies.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createFolder } from '../../support/folder.ts';

/** Names that CSV has to quote, that look like a formula, or that look like COPY's own marks. */
const NAMES = [
  'Ábaco & Filhos, Lda',
  'A "Nova" Padaria; Lda',
  '"Só aspas"',
  '=SUM(A1)',
  '\\.',
  '\\N',
  "O'Brien\\t",
  'NULL',
  ',',
  '公司',
];

const database = await createTestDatabase('export');
const folder = createFolder('export');
afterAll(() => database.drop());

const at = (name: string) => join(folder, name);

test('before anything was imported there is nothing to export', async () => {
  const { refusal } = createCommandLine(database.url);
  for (const words of [
    ['companies', 'export'],
    ['debts', 'export', '--kind', 'tax', '--output', at('none.csv')],
  ]) {
    const { code, stderr } = await refusal(...words);
    expect([code, stderr]).toEqual([1, expect.stringContaining('import')]);
  }
  expect(await Bun.file(at('none.csv')).exists()).toBe(false);
  expect((await refusal('debts', 'export')).code).toBe(2);
});

test('a directory goes out and in again unchanged, plain and packed', async () => {
  const { run, json } = createCommandLine(database.url);
  const rows = NAMES.map((name, n) => `${nif(n)},"${name.replaceAll('"', '""')}"\n`);
  await Bun.write(at('names.csv'), `nif,legal_name\n${rows.join('')}`);
  await json('companies', 'import', at('names.csv'), '--replace');

  const { code, stdout, stderr } = await run('companies', 'export');
  expect(code).toBe(0);
  expect(stderr).toContain(`${NAMES.length} companies`);
  expect(stdout.split('\n')[0]).toBe('nif,legal_name');
  await Bun.write(at('out.csv'), stdout);
  await run('companies', 'export', '--output', at('out.csv.gz'));
  expect(new TextDecoder().decode(Bun.gunzipSync(await Bun.file(at('out.csv.gz')).bytes()))).toBe(stdout);
  // It has natural persons, too.
  expect((await stat(at('out.csv.gz'))).mode & 0o777).toBe(0o600);
  for (const name of ['out.csv', 'out.csv.gz']) {
    const again = await json('companies', 'import', at(name), '--replace');
    expect(again).toMatchObject({
      read: NAMES.length,
      unchanged: NAMES.length,
      imported: 0,
      removed: 0,
      rejected: 0,
    });
  }
});

test('a file that can’t be opened is one line, also with more rows than a connection buffers', async () => {
  await using large = await createTestDatabase('export_large');
  await large.sql`
    DO $$ BEGIN EXECUTE format('INSERT INTO %s (nif, legal_name, normalized_name, sort_key) SELECT (500000000 + n)::text, repeat(''A'', 400), ''a'', ''a'' FROM generate_series(1, 50000) AS n',
      (SELECT table_name FROM directory JOIN directory_generations AS generation ON generation.id = current)); END $$`;
  const output = join(at('no-folder'), 'out.csv');
  const { code, stderr } = await runCommand(
    { DATABASE_URL: large.url },
    'companies',
    'export',
    '--output',
    output,
  );
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: [^\n]+: there is no folder [^\n]+\n$/)]);
});

test('a dataset of debts goes out and in again without a change', async () => {
  const { run, json } = createCommandLine(database.url);
  const brackets = {
    [nif(1)]: [0, 0],
    [nif(2)]: [7500, null],
    [nif(3)]: [1, Number.MAX_SAFE_INTEGER],
  } as const;
  await importBrackets(database, brackets, { date: '2026-10-31' });
  await importBrackets(database, { [nif(4)]: [1, 2] }, { kind: 'social-security' });

  const { stdout, stderr } = await run('debts', 'export', '--kind', 'tax');
  expect(stderr).toContain('the tax dataset of 2026-10-31: 3 companies');
  expect(stdout).toBe(
    `nif,start,end\n${[`${nif(1)},0,0`, `${nif(2)},7500,`, `${nif(3)},1,9007199254740991`].toSorted().join('\n')}\n`,
  );
  await Bun.write(at('debts.csv'), stdout);
  const again = await json('debts', 'import', at('debts.csv'), '--kind', 'tax', '--date', '2026-10-31');
  expect(again).toMatchObject({ read: 3, imported: 3, removed: 0, appeared: 0, changed: 0, ended: 0 });
});

/** More than a pipe holds. */
const MANY = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [nif(n), [1, null] as const]));

test('an export is of one moment, and waits for a reader that is slow', async () => {
  const { url } = database;
  await importBrackets(database, MANY);
  const child = Bun.spawn([process.execPath, 'src/main.ts', 'debts', 'export', '--kind', 'tax'], {
    env: { ...bareEnvironment(), DATABASE_URL: url },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const reader = child.stdout.getReader();
  const chunks = [(await reader.read()).value!];
  await importBrackets(database, { [nif(0)]: [2, null] });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
  }
  expect(await child.exited).toBe(0);
  const lines = Buffer.concat(chunks).toString().trimEnd().split('\n');
  expect(lines).toHaveLength(20_001);
  expect(new Set(lines.slice(1).map((line) => line.slice('500000000'.length)))).toEqual(new Set([',1,']));
});

test('rows are copied out by commands alone, because a stream that is left early holds its connection to the end of the process', async () => {
  const files = [...new Glob('**/*.ts').scanSync(join(ROOT, 'src'))];
  const texts = files.map((file) => [file, readFileSync(join(ROOT, 'src', file), 'utf8')] as const);
  const users = texts
    .filter(([, text]) => /\bTO STDOUT\b|\.readable\(|\bcopyOut\(/.test(text))
    .map(([file]) => file);
  // `hashOfRows` of copy.ts reads to the end: only imports call it, on the connection of their lock.
  expect(users.toSorted()).toEqual([
    'backup/backup.ts',
    'platform/postgres/copy.ts',
    'platform/terminal/export-command.ts',
  ]);
});
