/** The programs in `examples`, as a customer runs them, against the real service: with a test key, except in tests about what is paid. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { appendFile, copyFile, readdir, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { PROBLEMS, type Problem } from '../../src/http/problems.ts';
import { importBrackets } from '../companies/debts/support.ts';
import { type Api, type Caller, startApi } from '../support/api.ts';
import { bareEnvironment, ROOT } from '../support/command.ts';
import { nif } from '../support/companies.ts';
import { createFolder } from '../support/folder.ts';
import { nifPtFound } from '../support/provider.ts';
import { createTestKey } from '../support/service.ts';
import { importAnswers } from '../support/whole.ts';

const EXAMPLES = join(ROOT, 'examples');
const INSTALL_TIMEOUT_MS = 180_000;
const DIRECTORY = `nif,legal_name
500002576,"Ábaco & Filhos, Lda"
500002568,Abacate Lda
${nif(900)},"Caracol ""Doce"" \\ Filhos, Lda"
`;

type Program = 'companies' | 'match' | 'screen' | 'follow';

/** How programs are run. Python and jq are only used where they are installed: no other part of the project needs one. */
const languages: Record<string, (program: Program) => string[]> = {
  TypeScript: (program) => [process.execPath, `${program}.ts`],
};
if (Bun.which('jq')) {
  languages.shell = (program) => ['sh', join(EXAMPLES, `shell/${program}.sh`)];
}
if (Bun.which('python3')) {
  languages.Python = (program) => ['python3', join(EXAMPLES, `python/${program}.py`)];
}

let api: Api;
/** A copy of the TypeScript example: packages and generated types stay out of the checkout. */
const folder = createFolder('examples');

const inFolder = async (...words: string[]) => {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: folder,
    env: { ...bareEnvironment(), DIRECTORY_URL: api.baseUrl },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, output: stdout + stderr };
};

beforeAll(async () => {
  api = await startApi({ directory: DIRECTORY });
  for (const nif of ['500002576', '500002568']) api.provider.answer(nif, nifPtFound(nif));
  for (const name of await readdir(join(EXAMPLES, 'typescript'))) {
    if (!['node_modules', 'api.d.ts'].includes(name)) {
      await copyFile(join(EXAMPLES, 'typescript', name), join(folder, name));
    }
  }
  for (const words of [
    ['install', '--frozen-lockfile'],
    ['run', 'generate'],
  ]) {
    const { code, output } = await inFolder(...words);
    if (code !== 0) throw new Error(`bun ${words.join(' ')}: ${output}`);
  }
}, INSTALL_TIMEOUT_MS);
afterAll(async () => {
  await api?.stop();
});

/** The service behind an address that answers `first` to the first requests, and loses those for which `isLost` says so. */
function startFront(first: Problem[], isLost = async (_count: number) => false) {
  const requests: { path: string; atMs: number }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      requests.push({ path: pathname, atMs: performance.now() });
      const problem = first.shift();
      if (problem) return (await importAnswers()).responseTo(api.baseUrl, { ok: false, problem });
      if (await isLost(requests.length)) return new Response(null, { status: 504 });
      const { method, headers } = request;
      const body = method === 'POST' ? await request.text() : null;
      return fetch(api.baseUrl + pathname + search, { method, headers, body });
    },
  });
  return { requests, url: server.url.origin, stop: () => server.stop(true) };
}

interface RunOptions {
  program?: Program;
  words?: string[];
  first?: Problem[];
  /** The program is killed, with SIGKILL, when it has sent so many requests. The last of them never arrives. */
  killAt?: number;
}

function start(
  url: string,
  language: string,
  key: string,
  { program = 'companies', words = ['padaria áb'] }: RunOptions,
) {
  return Bun.spawn([...languages[language]!(program), ...words], {
    cwd: folder,
    env: { ...bareEnvironment(), DIRECTORY_URL: url, API_KEY: key },
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

async function outcomeOf({ stdout, stderr, exited }: ReturnType<typeof start>) {
  const [output, errors, code] = await Promise.all([stdout.text(), stderr.text(), exited]);
  return { code, stdout: output, stderr: errors };
}

async function run(language: string, key: string, options: RunOptions = {}) {
  const front = startFront([...(options.first ?? [])], async (count) => {
    if (count !== options.killAt) return false;
    child.kill('SIGKILL');
    await child.exited;
    return true;
  });
  const child = start(front.url, language, key, options);
  const outcome = await outcomeOf(child);
  await front.stop();
  return { ...outcome, requests: front.requests };
}

const after = (kind: Problem['kind'], waitS: number): Problem => ({
  kind,
  headers: { 'Retry-After': String(waitS) },
});
const CALLS = ['/api/v1/companies', '/api/v1/companies/599910020', '/api/v1/usage'];

test('the types that are generated from the OpenAPI document fit the TypeScript example', async () => {
  expect(await inFolder('run', 'typecheck')).toMatchObject({ code: 0 });
});

describe.each(Object.keys(languages))('the example in %s', (language) => {
  let caller: Caller;
  let testKey: string;
  beforeAll(async () => {
    caller = await api.caller();
    testKey = await createTestKey(api.sql, caller.accountId);
  });

  test('searches, looks the first company up and shows the credits', async () => {
    const { code, stdout, stderr, requests } = await run(language, testKey);
    expect([code, stderr]).toEqual([0, '']);
    // The same in every language.
    expect(stdout).toBe(
      [
        '599910020 Padaria Ábaco & Filhos, Lda',
        '599910038 PADARIA ABACO UNIPESSOAL, LDA',
        '599910011 Padaria Ábaco, Lda',
        'Padaria Ábaco & Filhos, Lda, Lisboa, tax debt from 50001 EUR',
        'credits left: 500\n',
      ].join('\n'),
    );
    expect(requests.map(({ path }) => path)).toEqual(CALLS);
    expect(await api.ledger(caller)).toEqual({ used: 0, credits: 0 });
  });

  test('costs two credits with a key that is no test key', async () => {
    const payer = await api.caller();
    const { code, stdout } = await run(language, payer.key, { words: ['ábac'] });
    expect(code).toBe(0);
    expect(stdout).toEndWith('credits left: 498\n');
    expect(await api.ledger(payer)).toEqual({ used: 2, credits: 0 });
  });

  test('waits as long as Retry-After says, and asks again', async () => {
    const { code, stderr, requests } = await run(language, testKey, {
      first: [after('rate-limit-exceeded', 1), after('service-unavailable', 0)],
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(requests.map(({ path }) => path)).toEqual([CALLS[0]!, CALLS[0]!, ...CALLS]);
    expect(requests[1]!.atMs - requests[0]!.atMs).toBeGreaterThan(900);
  });

  test('takes a date in Retry-After, as proxies send it', async () => {
    const busy = (date: Date): Problem => ({
      kind: 'service-unavailable',
      headers: { 'Retry-After': date.toUTCString() },
    });
    const { code, stderr } = await run(language, testKey, { first: [busy(new Date(0))] });
    expect([code, stderr]).toEqual([0, '']);
  });

  test('says the detail of a problem in one line, and asks once for one that costs a credit', async () => {
    const { code, stderr, requests } = await run(language, testKey, { words: ['search-failed'] });
    expect([code, stderr]).toEqual([1, `search-failed: ${PROBLEMS['search-failed'].cause}\n`]);
    // It costs a credit each time.
    expect(requests).toHaveLength(1);
  });

  test('gives up after four attempts', async () => {
    const { code, stderr, requests } = await run(language, testKey, {
      first: Array.from({ length: 9 }, () => after('service-unavailable', 0)),
    });
    expect([code, requests.length]).toEqual([1, 4]);
    expect(stderr).toContain('service-unavailable');
  });

  test('says in one line that nothing answers', async () => {
    const { code, stderr } = await outcomeOf(start('http://127.0.0.1:9', language, testKey, {}));
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^[^\n]+\n$/);
  });

  test('asks once when the key is wrong, and when the credits are used up', async () => {
    const wrongKey = await run(language, 'svc_wrong');
    expect([wrongKey.code, wrongKey.requests.length]).toEqual([1, 1]);
    expect(wrongKey.stderr).toContain('unauthorized');
    expect(wrongKey.stderr).toContain('API_KEY');
    const noCredits = await run(language, testKey, { words: ['monthly-quota-exceeded'] });
    expect([noCredits.code, noCredits.requests.length]).toEqual([1, 1]);
    expect(noCredits.stderr).toMatch(/monthly-quota-exceeded/);
    expect(noCredits.stderr).toMatch(/no credits until 20\d\d-/);
  });
});

describe.each(Object.keys(languages))('the example about a list in %s', (language) => {
  const COMPANIES = Array.from({ length: 250 }, (_, n) => nif(n));
  const plenty = { limits: { requestsPerMinute: 1000 }, included: 10_000 };
  const SUPPLIERS = `Fornecedor;NIPC;Desde\n${COMPANIES.map((company, n) => `"A ${n}; Lda";${company};2020-01-01\n`).join('')}`;
  const brackets = (start: number) =>
    Object.fromEntries(COMPANIES.map((company) => [company, [start, null] as const]));
  let caller: Caller;
  let suppliers: string;
  let out: string;
  beforeEach(async () => {
    caller = await api.caller(plenty);
    suppliers = join(folder, 'suppliers.csv');
    out = join(folder, `${caller.accountId}.out`);
    await Bun.write(suppliers, SUPPLIERS);
  });
  const lines = async () => (await Bun.file(out).text()).trimEnd().split('\n');
  const used = async () => (await api.ledger(caller)).used;
  const runOn = (program: Program, options: RunOptions = {}) =>
    run(language, caller.key, { program, words: [suppliers, out], ...options });
  const runFree = async (program: Program) =>
    run(language, await createTestKey(api.sql, caller.accountId), { program, words: [suppliers, out] });

  test('screens a file of suppliers; killed and run again, it pays for each company once', async () => {
    await importBrackets(api.database, { [nif(7)]: [7500, 25_000], [nif(8)]: [1_000_000, null] });
    await importBrackets(api.database, { [nif(8)]: [1, 2] }, { kind: 'social-security', date: '2026-11-02' });
    await runOn('screen', { killAt: 3 });
    expect(await lines()).toHaveLength(201);
    expect(await used()).toBe(200);
    // The killed run was in the middle of a line.
    await appendFile(out, COMPANIES[200]!.slice(0, 5));
    const { code, stderr, stdout } = await runOn('screen');
    expect([code, stderr, stdout]).toEqual([0, '', '50 companies screened\n']);
    expect(await used()).toBe(250);
    const [header, ...rows] = await lines();
    expect(header).toBe(
      'nif,status,tax_start,tax_end,tax_date,social_security_start,social_security_end,social_security_date',
    );
    expect(rows.map((row) => row.split(',')[0]!)).toEqual(COMPANIES);
    expect(rows.slice(6, 9)).toEqual([
      `${nif(6)},200,,,,,,`,
      `${nif(7)},200,7500,25000,2026-10-31,,,`,
      `${nif(8)},200,1000000,,2026-10-31,1,2,2026-11-02`,
    ]);
    expect(await runOn('screen')).toMatchObject({
      code: 0,
      requests: [],
      stdout: '0 companies screened\n',
    });
  });

  test('screens what the credits suffice for, says so, and goes on when there are more', async () => {
    caller = await api.caller({ ...plenty, included: 130 });
    await appendFile(suppliers, '"Errado";500002577;\n');
    const { code, stderr } = await runOn('screen');
    expect([code, stderr]).toEqual([1, expect.stringContaining('monthly-quota-exceeded')]);
    expect(stderr).toContain('left out, no valid NIF: "Errado";500002577;');
    expect(await lines()).toHaveLength(131);
    await api.command('account', 'credits', caller.accountId, '--add', '500');
    expect(await runOn('screen')).toMatchObject({ code: 0 });
    expect((await lines()).at(-1)).toBe(`${COMPANIES.at(-1)},200,,,,,,`);
    expect(await used()).toBe(250);
  });

  const FORMS = [
    '500 002 576',
    '500.002.568',
    `PT${nif(3)}`,
    `"${nif(4)}"`,
    nif(5).replace(/(...)/g, '$1\u00a0'),
  ];
  const NIFS = ['500002576', '500002568', nif(3), nif(4), nif(5)];
  const TABLE = `Nome;Desde;NIPC\n${FORMS.map((form, n) => `Ação ${n};2020-01-0${n + 1};${form}\n`).join('')}`;
  const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

  test.each<[string, string | Buffer]>([
    ['a table with separators', TABLE],
    ['with a mark and other line ends', `\ufeff${TABLE.replaceAll('\n', '\r\n')}`],
    ['with line ends of old spreadsheets', TABLE.replaceAll('\n', '\r')],
    ['UTF-16 as a spreadsheet saves it', utf16(TABLE)],
    ['UTF-16 with the other order', utf16(TABLE).swap16()],
    ['Latin-1', Buffer.from(TABLE.replaceAll('\u00a0', ' '), 'latin1')],
    ['tabs', TABLE.replaceAll(';', '\t')],
    ['a telephone number first', TABLE.replaceAll(/^(Ação)/gm, '210 000 001;$1')],
  ])('loses no supplier of a file: %s', async (_, content) => {
    await Bun.write(suppliers, content);
    const { code, stderr } = await runFree('screen');
    expect([code, stderr]).toEqual([0, '']);
    expect((await lines()).slice(1).map((row) => row.split(',')[0]!)).toEqual(NIFS);
  });

  test('prints each row that it does not ask for, and rows with several NIFs', async () => {
    const rows = ['12345678', '5000025760', 'sem número', '500002577', '500-002-57'];
    await Bun.write(suppliers, `${rows.join('\n')}\n\n500002576 e 500002568\n500002576\n`);
    const { code, stderr } = await runOn('screen');
    expect([code, stderr.trim().split('\n').toSorted()]).toEqual([
      0,
      [
        ...rows.map((row) => `left out, no valid NIF: ${row}`),
        'only the first NIF is taken of: 500002576 e 500002568',
      ].toSorted(),
    ]);
    expect([await used(), (await lines()).length]).toEqual([1, 2]);
  });

  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['no NIF', 'Fornecedor;NIPC\nA;500002577\n'],
    ['UTF-16 without a mark', Buffer.from(TABLE, 'utf16le')],
  ])('a file with %s is an error, and asks for nothing', async (_, content) => {
    await Bun.write(suppliers, content);
    for (const program of ['screen', 'follow'] as const) {
      const { code, stderr, requests } = await runOn(program);
      expect([program, code, requests]).toEqual([program, 1, []]);
      expect(stderr).toMatch(/suppliers\.csv: (no valid NIF in it|not UTF-8)/);
    }
  });

  test('follows a list of any length, a request for each 1,000; killed, it has each change once', async () => {
    const MANY = Array.from({ length: 2100 }, (_, n) => nif(n));
    await Bun.write(suppliers, MANY.join('\n'));
    const changed = [MANY[3]!, MANY[1500]!, MANY[2050]!];
    const bracketsOf = (start: number) =>
      Object.fromEntries(changed.map((company) => [company, [start, null] as const]));
    await importBrackets(api.database, bracketsOf(1));
    await runOn('follow');
    const begin = (await lines()).map((line) => JSON.parse(line)).filter(({ next }) => next);
    expect(begin.map(({ left }) => left)).toEqual([2, 1, undefined]);
    const before = (await lines()).length;
    await importBrackets(api.database, bracketsOf(2));
    await runOn('follow', { killAt: 2 });
    const { code, stderr, requests } = await runOn('follow');
    expect([code, stderr, requests.length]).toEqual([0, '', 2]);
    const changes = (await lines()).slice(before).flatMap((line) => JSON.parse(line).nif ?? []);
    expect(changes).toEqual(changed);
    // As if the import had come between two requests of one run: the next run begins before it, also for a company that has moved.
    const ended = await Bun.file(out).text();
    const file = ended.replace(/(?<="next":")chg_\d+(?=","left":2\}\n(.*\n){4}$)/, begin[0].next);
    expect(file).not.toBe(ended);
    await Bun.write(out, file);
    await Bun.write(suppliers, MANY.toReversed().join('\n'));
    const again = await runOn('follow');
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.requests).toHaveLength(3);
    expect((await lines()).length).toBe(before + 3 + 3 + 3);
  });

  test('says that a list was never imported', async () => {
    const other = await startApi();
    try {
      const { key } = await other.caller(plenty);
      const options: RunOptions = { program: 'screen', words: [suppliers, out] };
      const { code, stderr } = await outcomeOf(start(other.baseUrl, language, key, options));
      expect([code, stderr]).toEqual([0, expect.stringContaining('never imported')]);
    } finally {
      await other.stop();
    }
  });

  test('follows changes from run to run; killed, it has each change once and pays for each once', async () => {
    await importBrackets(api.database, brackets(1));
    const follow = (options: RunOptions = {}) => runOn('follow', options);
    // What other tests have changed before.
    await follow();
    await rm(out);
    await api.sql`UPDATE debt_change_numbers SET purged = last`;
    await api.sql`DELETE FROM debt_changes`;
    // As ten minutes later: what they have paid for is charged again.
    await api.sql`UPDATE call_journal SET spent_at = spent_at - interval '11 minutes'`;
    const before = await used();

    await importBrackets(api.database, brackets(2));
    await follow({ killAt: 3 });
    expect([await used(), (await lines()).length]).toEqual([before + 200, 200]);
    const { code, stderr, stdout } = await follow();
    const written = (await lines()).map((line) => JSON.parse(line));
    const told = written.slice(200, 250).map(({ nif, date }) => `${nif} tax changed ${date}\n`);
    expect([code, stderr, stdout]).toEqual([0, '', told.join('')]);
    expect(await used()).toBe(before + 250);
    expect(written.slice(0, 250).map(({ nif }) => nif)).toEqual(COMPANIES.toSorted());
    expect(written).toHaveLength(251);
    expect(written[250]).toEqual({ next: written[249].id });
    expect(written[0]).toMatchObject({ kind: 'tax', change: 'changed', after: { start: 2, end: null } });

    // Nothing new: one credit, and the cursor once more.
    expect(await follow()).toMatchObject({ code: 0, stdout: '' });
    expect([await used(), (await lines()).length]).toEqual([before + 251, 252]);

    // Two changes, of which the last run has paid one. The second is cut off, as by a kill: the program asks for it again.
    await importBrackets(api.database, { ...brackets(2), [nif(1)]: [3, null], [nif(2)]: [3, null] });
    await follow();
    expect(await used()).toBe(before + 252);
    const file = await Bun.file(out).text();
    await truncate(out, file.lastIndexOf('{"id"') + 20);
    expect(await follow()).toMatchObject({ code: 0 });
    expect(await Bun.file(out).text()).toBe(file);
    expect(await used()).toBe(before + 252);
  });

  test('says what to do when its cursor is too old', async () => {
    await Bun.write(out, '{"next":"chg_1"}\n');
    const { code, stderr } = await runFree('follow');
    expect([code, stderr]).toEqual([1, expect.stringContaining('screen the list again')]);
  });

  test('screens and follows the companies of the test world for nothing', async () => {
    await Bun.write(suppliers, '599910054\n599910011\n');
    expect(await runFree('screen')).toMatchObject({ code: 0, stderr: '' });
    expect((await lines()).slice(1)).toEqual([
      '599910054,200,100001,500000,2026-10-28,100001,250000,2026-10-29',
      '599910011,200,,,,,,',
    ]);
    await rm(out);
    expect(await runFree('follow')).toMatchObject({ code: 0, stderr: '' });
    const changes = (await lines()).map((line) => JSON.parse(line)).filter(({ id }) => id);
    expect(changes.filter(({ kind }) => kind === 'social_security').map(({ change }) => change)).toEqual([
      'appeared',
      'changed',
    ]);
    expect(await used()).toBe(0);
  });
});

describe.each(Object.keys(languages))('the example about names in %s', (language) => {
  const plenty = { limits: { requestsPerMinute: 1000 }, included: 10_000 };
  // Quoted, with quotes in it, of over eight words, and found nowhere.
  const NAMES = [
    'Filhos Ábaco, Lda',
    'O "Grande" Abacate',
    'Abacate',
    'Abaco um dois tres quatro cinco seis sete oito nove',
    'caracol «doce»',
    ...Array.from({ length: 245 }, (_, n) => `Desconhecida ${n}`),
  ];
  const csv = `Nome,Desde\n${NAMES.map((name) => `"${name.replaceAll('"', '""')}",2020\n`).join('')}`;
  let caller: Caller;
  let names: string;
  let out: string;
  beforeEach(async () => {
    caller = await api.caller(plenty);
    names = join(folder, 'names.csv');
    out = join(folder, `${caller.accountId}.out`);
    await Bun.write(names, csv);
  });
  const lines = async () => (await Bun.file(out).text()).trimEnd().split('\n');
  const used = async () => (await api.ledger(caller)).used;
  const runOn = (options: RunOptions = {}) =>
    run(language, caller.key, { program: 'match', words: [names, out], ...options });

  test('gives each name its NIF; killed and run again, it pays for each name once', async () => {
    await runOn({ killAt: 3 });
    expect([await used(), (await lines()).length]).toEqual([200, 201]);
    // The killed run was in the middle of a line.
    await appendFile(out, 'Desconhec');
    const { code, stderr, stdout } = await runOn();
    expect([code, stderr, stdout]).toEqual([0, '', '50 names matched\n']);
    expect(await used()).toBe(250);
    const [header, ...rows] = await lines();
    expect(header).toBe('name,status,matches,nif,legal_name');
    expect(rows.slice(0, 5)).toEqual([
      '"Filhos Ábaco, Lda",200,1,500002576,"Ábaco & Filhos, Lda"',
      '"O ""Grande"" Abacate",200,0,,',
      'Abacate,200,1,500002568,Abacate Lda',
      'Abaco um dois tres quatro cinco seis sete oito nove,200,0,,',
      `caracol «doce»,200,1,${nif(900)},"Caracol ""Doce"" \\ Filhos, Lda"`,
    ]);
    expect(rows).toHaveLength(250);
    expect(await runOn()).toMatchObject({ code: 0, requests: [] });
  });

  test('gives names of the test world their NIFs for nothing', async () => {
    await Bun.write(names, 'Construções Gaia\nsearch-failed\n');
    const testKey = await createTestKey(api.sql, caller.accountId);
    expect(await run(language, testKey, { program: 'match', words: [names, out] })).toMatchObject({
      code: 0,
    });
    expect((await lines()).slice(1)).toEqual([
      'Construções Gaia,200,1,599910089,"Gaia Norte - Construções e Obras, Lda"',
      'search-failed,500,0,,',
    ]);
    expect(await used()).toBe(0);
  });

  test('takes UTF-16 as spreadsheets save it; a file without a name is an error', async () => {
    await Bun.write(names, Buffer.from('\ufeffNome\r\nFilhos Ábaco\r\n', 'utf16le'));
    expect(await runOn()).toMatchObject({ code: 0, stderr: '' });
    expect((await lines()).at(-1)).toBe('Filhos Ábaco,200,1,500002576,"Ábaco & Filhos, Lda"');
    await Bun.write(names, 'Nome\n\n');
    expect(await runOn()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no name in its first column'),
      requests: [],
    });
  });

  test.each([';', '\t'])(
    'takes columns that end with %j, and tells a row without a name',
    async (separator) => {
      const rows = [
        ['Nome', 'Cidade'],
        ['Filhos Ábaco, Lda', 'Braga'],
        ['" "', 'Lisboa'],
        ['"Abacate"', '"Faro"'],
      ];
      await Bun.write(names, `\ufeff${rows.map((row) => row.join(separator)).join('\r\n')}\r\n`);
      expect(await runOn()).toMatchObject({
        code: 0,
        stdout: '2 names matched\n',
        stderr: expect.stringMatching(/^left out, no name: .+Lisboa\n$/),
      });
      expect((await lines()).slice(1)).toEqual([
        '"Filhos Ábaco, Lda",200,1,500002576,"Ábaco & Filhos, Lda"',
        'Abacate,200,1,500002568,Abacate Lda',
      ]);
    },
  );

  test('asks for no name of a file in another encoding than UTF-8 and UTF-16', async () => {
    await Bun.write(names, Buffer.from('Nome\nFilhos Ábaco\n', 'latin1'));
    const { code, stderr, requests } = await runOn();
    expect([code, stderr, requests]).toEqual([1, expect.stringContaining('Save it as UTF-8'), []]);
  });

  test('matches what the credits suffice for, says so, and goes on when there are more', async () => {
    caller = await api.caller({ ...plenty, included: 130 });
    const { code, stderr } = await runOn();
    expect([code, stderr]).toEqual([1, expect.stringContaining('monthly-quota-exceeded')]);
    expect(await lines()).toHaveLength(131);
    await api.command('account', 'credits', caller.accountId, '--add', '500');
    expect(await runOn()).toMatchObject({ code: 0 });
    expect([await used(), (await lines()).length]).toEqual([250, 251]);
  });
});
