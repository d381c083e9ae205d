import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { withDirectoryLock } from '../../../src/companies/directory/lock.ts';
import { SECOND } from '../../../src/platform/units.ts';
import { createCommandLine, ROOT, runHere } from '../../support/command.ts';
import { csv, nif } from '../../support/companies.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

let bench: Workbench;
let line: ReturnType<typeof createCommandLine>;

beforeEach(async () => {
  bench = await createWorkbench('postgres');
  line = createCommandLine(bench.database.url);
});
afterEach(() => bench.close());

test('an import answers what it has done, and a dry run what it would do', async () => {
  const first = await bench.write('first.csv', csv(0, 10));
  const second = await bench.write('second.csv', `${csv(5, 12)}1,x\n`);
  const imported = await line.json('companies', 'import', first);
  const nothing = { unchanged: 0, rejected: 0, removed: 0, reasons: {} };
  const [index, milliseconds] = [expect.any(String), expect.any(Number)];
  expect(imported).toEqual({ ...nothing, read: 10, imported: 10, index, milliseconds });
  const dry = await line.json('companies', 'import', '--dry-run', second);
  const reasons = { 'NIF is not nine digits': 1 };
  expect(dry).toEqual({
    ...{ read: 8, imported: 2, unchanged: 5, rejected: 1, removed: 0, reasons },
    ...{ index: imported.index, milliseconds },
  });
  const next = await line.json('companies', 'import', second, '--rejects', bench.path('rejects.csv'));
  expect(next).toEqual({ ...dry, index, milliseconds });
  const status = await line.json('index', 'status');
  expect(status).toMatchObject({ index: next.index, previous: imported.index, documents: 12, agrees: true });
  expect((await line.json('index', 'rebuild')).previous).toBe(imported.index);
  expect((await line.json('index', 'rollback')).index).toBe(imported.index);
  expect(await line.refusal('index', 'rollback', '--json')).toEqual({
    code: 1,
    stderr: 'error: there is nothing to return to: no import since the last rollback, or none at all\n',
  });
});

const SHA256 = /, sha256 [0-9a-f]{64}/.source;

test('people see in the status who loaded what and when, and who changes the directory now', async () => {
  const file = await bench.write('loaded.csv', csv(0, 14));
  await line.run('companies', 'import', file);
  const debts = await bench.write('debts.csv', `nif,start,end\n${nif(1)},1,2\n`);
  await line.run('debts', 'import', debts, '--kind', 'tax', '--date', '2026-10-31');
  const since = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/.source;
  const { stdout } = await line.run('index', 'status');
  expect(stdout).toMatch(
    new RegExp(`^directory +14 companies, imported ${since} by cli:.+ from loaded.csv${SHA256}$`, 'm'),
  );
  expect(stdout).toMatch(
    new RegExp(`^tax debts +1 companies of 2026-10-31, imported ${since} by cli:.+${SHA256}$`, 'm'),
  );
  expect(stdout).toMatch(/^social security debts +not imported$/m);
  expect(stdout).not.toContain('running');
  await withDirectoryLock(bench.tools, 'companies import', async () => {
    const holder = `test on .+, process ${process.pid} \\(companies import, since ${since}\\)`;
    expect((await line.run('index', 'status')).stdout).toMatch(new RegExp(`^running +${holder}$`, 'm'));
    const others = [
      ['companies', 'import', file],
      ['index', 'rebuild'],
      ['index', 'rollback'],
    ];
    let nowMs = 0;
    const clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
    const sleep = spyOn(Bun, 'sleep').mockImplementation(async (ms) => {
      nowMs += Number(ms);
    });
    const imports = await Bun.file(join(ROOT, 'docs/imports.md')).text();
    const [, seconds] = /a second one waits (\d+) seconds, names the lock's holder/.exec(imports)!;
    try {
      for (const words of others) {
        const sinceMs = nowMs;
        const { stderr } = await line.refusal(...words);
        expect(stderr).toMatch(new RegExp(`^error: the directory is being changed by ${holder}: wait until`));
        expect(nowMs - sinceMs).toBe(Number(seconds) * SECOND);
      }
    } finally {
      sleep.mockRestore();
      clock.mockRestore();
    }
  });
});

test('--columns takes the file’s own names, with commas and dots in them', async () => {
  const file = await bench.write('named.csv', `Nº,"NIPC, se houver",E.Nome\n1,${nif(500)},Nomeada\n`);
  for (const [names, imported] of [
    ['nif=NIPC, se houver,legal_name=e.nome', 1],
    [' nif = NIPC, se houver , legal_name = e.nome ', 0],
  ] as const)
    expect(await line.json('companies', 'import', file, '--columns', names)).toMatchObject({
      read: 1,
      imported,
    });
  expect(await bench.search('nomeada')).toEqual([`${nif(500)} Nomeada`]);
});

test('--legal-persons skips natural persons and writes nothing of theirs to the rejects', async () => {
  const rows = [
    '199999990,Natural com NIF errado',
    '123456789,Natural',
    '234 567 899,Natural com espaços',
    '12345678,Natural com oito dígitos',
    '299999998,"Natural, sem fim',
    '299999998,Natural,com vírgula a mais',
    '456789123,Não residente',
    `${nif(501)},Colectiva`,
    '1x,Natural estranho',
    '999,Curta',
    'AA923456,Pessoa natural com código',
  ];
  const file = await bench.write('persons.csv', `nif,legal_name\n${rows.join('\n')}\n`);
  const rejects = bench.path('persons-rejects.csv');
  const words = ['companies', 'import', file, '--legal-persons', '--rejects', rejects];
  const { stdout } = await line.run(...words);
  expect(stdout).toMatch(/^read +11$/m);
  expect(stdout).toMatch(/^imported +1$/m);
  expect(stdout).toMatch(/^rejected +10 \(6 NIF of a natural person, /m);
  expect(stdout).toMatch(/^time +\d+ s$/m);
  const written = await Bun.file(rejects).text();
  expect(written).not.toMatch(/natural|residente|1\d{7}|2\d{7}/i);
  expect(written).toContain('11,"NIF is not nine digits","999,Curta"\n12,"NIF is not nine digits",""\n');
  const alone = await bench.write('persons-alone.csv', 'nif,legal_name\n123456789,Natural\n');
  const refused = await line.refusal('companies', 'import', alone, '--legal-persons');
  expect(refused).toEqual({
    code: 1,
    stderr: 'error: none of the 1 rows can be used (1 times: NIF of a natural person): nothing has changed\n',
  });
});

test('rejects have the order of the file, superseded rows among the others', async () => {
  const first = [
    `${nif(1)},Primeira`,
    '1,x',
    `${nif(2)},Segunda`,
    `${nif(2)},"Aberta`,
    `${nif(1)},Primeira outra vez`,
  ];
  const file = await bench.write(
    'again.csv',
    `nif,legal_name\n${[...first, `${nif(2)},Última`, `${nif(1)},Fim`].join('\n')}\n`,
  );
  const rejects = bench.path('again-rejects.csv');
  const answer = await line.json('companies', 'import', file, '--rejects', rejects);
  expect(answer).toMatchObject({ read: 7, imported: 2, rejected: 5 });
  expect(answer.reasons).toEqual({
    'NIF comes again later in the file': 3,
    'NIF is not nine digits': 1,
    'quote not closed': 1,
  });
  const lines = (await Bun.file(rejects).text()).split('\n');
  expect(lines.map((text) => text.split(',')[0])).toEqual(['line', '2', '3', '4', '5', '6', '']);
  expect(await bench.rows()).toEqual([`${nif(1)} Fim`, `${nif(2)} Última`]);
});

test('what can not be read or used is one line and exit 1; wrong usage is 2', async () => {
  const own = await bench.write('own.csv', 'nif,legal_name\n1,2\n');
  const cases: [string[], number, RegExp][] = [
    [[own, '--rejects', own], 1, /is the file that is read/],
    [[bench.path('missing.csv')], 1, /^error: .+missing\.csv: no such file\n$/],
    [[bench.path('.')], 1, /^error: .+\n$/],
    [[await bench.write('columns.csv', 'a,b\n1,2\n')], 1, /^error: .+\n$/],
    [[await bench.write('rejected.csv', 'nif,legal_name\n1,2\n')], 1, /^error: none of the 1 rows .+\n$/],
    [[await bench.write('empty.csv', 'nif,legal_name\n')], 1, /^error: the file has no rows.+\n$/],
    [[], 2, /missing required argument/],
    [['x.csv', '--unknown'], 2, /unknown option/],
    [['x.csv', '--columns', 'nif'], 2, /It must be like nif=NAME,legal_name=NAME\./],
    [['x.csv', '--columns', 'nif='], 2, /It must be like/],
    [['x.csv', '--columns', 'start=a'], 2, /It must be like/],
    [['x.csv', '--columns', 'nif=A;legal_name=B'], 2, /It must be like nif=NAME,legal_name=NAME\./],
    [['x.csv', '--columns', 'nif=A legal_name=B'], 2, /It must be like/],
    [['x.csv', '--rejects', '-'], 2, /It must be a file/],
    [['x.csv', '--columns', 'nif=a,nif=b'], 2, /It has nif twice\./],
    [['x.csv', '--columns', 'nif=a,legal_name=A'], 2, /Each must come from a different column\./],
    [['x.csv', '--columns', 'nif=legal_name'], 2, /Each must come from a different column\./],
  ];
  for (const [words, code, message] of cases) {
    const outcome = await line.refusal('companies', 'import', ...words, '--json');
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toMatch(message);
  }
});

test('Elasticsearch out of reach is one plain line, and no reason not to report what Postgres knows', async () => {
  const env = { DATABASE_URL: bench.database.url, ELASTICSEARCH_URL: 'http://127.0.0.1:1' };
  const refused =
    "Elasticsearch doesn't answer as it should: the connection is refused, or the host is out of reach:";
  expect(await runHere(env, 'index', 'rebuild', '--json')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `error: ${refused} nothing has changed; check ELASTICSEARCH_URL and the server\n`,
  });
  expect(await runHere(env, 'index', 'status')).toMatchObject({
    code: 0,
    stderr: `warning: ${refused} check ELASTICSEARCH_URL and the server\n`,
    stdout: expect.stringMatching(
      /^generation +1\nindex +\(none\)\ndocuments +unknown\nprevious .*\ndirectory /,
    ),
  });
});

test('an import takes as long as it does when the clock is set back meanwhile', async () => {
  const file = await bench.write('first.csv', csv(0, 10));
  const { now } = Date;
  let hours = 0;
  const clock = spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000 * hours++);
  try {
    const { milliseconds } = await line.json('companies', 'import', file);
    expect(milliseconds).toBeWithin(0, 3_600_000);
  } finally {
    clock.mockRestore();
  }
});
