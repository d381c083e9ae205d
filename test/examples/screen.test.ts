/** The example that screens a file of suppliers: which rows it takes, what it pays, and what a killed run leaves. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { appendFile } from 'node:fs/promises';
import { importBrackets } from '../companies/debts/debts-support.ts';
import { outcomeOf } from '../support/command.ts';
import { nif } from '../support/companies.ts';
import { COMPANIES, type Files, LANGUAGES, type RunOptions, SUPPLIERS, startExamples } from './programs.ts';

const { api, start, withFile } = await startExamples();
afterAll(() => api.stop());

describe.each(LANGUAGES)('the example that screens in %s', (language) => {
  let files: Files;
  beforeEach(async () => {
    files = await withFile(language, SUPPLIERS);
  });

  test('screens a file of suppliers; killed and run again, it pays for each company once', async () => {
    await importBrackets(api.database, { [nif(7)]: [7500, 25_000], [nif(8)]: [1_000_000, null] });
    await importBrackets(api.database, { [nif(8)]: [1, 2] }, { kind: 'social-security', date: '2026-11-02' });
    await files.run('screen', { killAt: 3 });
    expect(await files.lines()).toHaveLength(201);
    expect(await files.used()).toBe(200);
    // The killed run was in the middle of a line.
    await appendFile(files.out, COMPANIES[200]!.slice(0, 5));
    const { code, stderr, stdout } = await files.run('screen');
    expect([code, stderr, stdout]).toEqual([0, '', '50 companies screened\n']);
    expect(await files.used()).toBe(250);
    const [header, ...rows] = await files.lines();
    expect(header).toBe(
      'nif,status,tax_start,tax_end,tax_date,social_security_start,social_security_end,social_security_date',
    );
    expect(rows.map((row) => row.split(',')[0]!)).toEqual(COMPANIES);
    expect(rows.slice(6, 9)).toEqual([
      `${nif(6)},200,,,,,,`,
      `${nif(7)},200,7500,25000,2026-10-31,,,`,
      `${nif(8)},200,1000000,,2026-10-31,1,2,2026-11-02`,
    ]);
    expect(await files.run('screen')).toMatchObject({
      code: 1,
      requests: [],
      stderr: `${files.out}: has all of them. Name another file to screen them again\n`,
    });
  });

  test('asks again for an answer that was lost, and pays once', async () => {
    const { code, requests } = await files.run('screen', { lost: [1, 3, 4] });
    expect([code, requests.length]).toEqual([0, 6]);
    expect(await files.used()).toBe(250);
    const rows = (await files.lines()).slice(1);
    expect(rows.map((row) => row.split(',')[0]!)).toEqual(COMPANIES);
  });

  test('gives up after four lost answers', async () => {
    const { code, stderr, requests } = await files.run('screen', { lost: [1, 2, 3, 4] });
    expect([code, requests.length]).toEqual([1, 4]);
    expect(stderr).toStartWith('no answer from ');
    expect(await files.used()).toBe(100);
  });

  test('screens what the credits suffice for, says so, and goes on when there are more', async () => {
    files = await withFile(language, `${SUPPLIERS}"Errado";500002577;\n`, 130);
    const { code, stderr } = await files.run('screen');
    expect([code, stderr]).toEqual([1, expect.stringContaining('monthly-quota-exceeded')]);
    expect(stderr).toContain('left out, no valid NIF: "Errado";500002577;');
    expect(await files.lines()).toHaveLength(131);
    await api.command('account', 'credits', files.caller.accountId, '--add', '500');
    expect(await files.run('screen')).toMatchObject({ code: 0 });
    expect((await files.lines()).at(-1)).toBe(`${COMPANIES.at(-1)},200,,,,,,`);
    expect(await files.used()).toBe(250);
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
    await Bun.write(files.input, content);
    const { code, stderr } = await files.runFree('screen');
    expect([code, stderr]).toEqual([0, '']);
    expect((await files.lines()).slice(1).map((row) => row.split(',')[0]!)).toEqual(NIFS);
  });

  test('prints each row that it does not ask for, and rows with several NIFs', async () => {
    const rows = ['12345678', '5000025760', 'sem número', '500002577', '500-002-57'];
    await Bun.write(files.input, `${rows.join('\n')}\n\n500002576 e 500002568\n500002576\n`);
    const { code, stderr } = await files.run('screen');
    expect([code, stderr.trim().split('\n').toSorted()]).toEqual([
      0,
      [
        ...rows.map((row) => `left out, no valid NIF: ${row}`),
        'only the first NIF is taken of: 500002576 e 500002568',
      ].toSorted(),
    ]);
    expect([await files.used(), (await files.lines()).length]).toEqual([1, 2]);
  });

  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['no NIF', 'Fornecedor;NIPC\nA;500002577\n'],
    ['UTF-16 without a mark', Buffer.from(TABLE, 'utf16le')],
  ])('a file with %s is an error, and asks for nothing', async (_, content) => {
    await Bun.write(files.input, content);
    for (const program of ['screen', 'follow'] as const) {
      const { code, stderr, requests } = await files.run(program);
      expect([program, code, requests]).toEqual([program, 1, []]);
      expect(stderr).toMatch(/input\.csv: (no valid NIF in it|not UTF-8)/);
    }
  });

  test.each(['resolve', 'screen', 'follow'] as const)(
    '%s writes to no file of another program, and names a wrong one',
    async (program) => {
      // The words in the wrong order. A last line without an end is not cut off.
      await Bun.write(files.out, 'Nome;NIPC\nA;500002576');
      const { code, stderr, requests } = await files.run(program);
      const told = {
        resolve: `its rows are not the first ones of ${files.input}. Write to another file`,
        screen: 'not written by this program',
        follow: 'not written by this program',
      };
      const read = program === 'resolve' ? 'heading: Fornecedor\n' : '';
      expect([code, stderr, requests]).toEqual([1, `${read}${files.out}: ${told[program]}\n`, []]);
      expect(await Bun.file(files.out).text()).toBe('Nome;NIPC\nA;500002576');
      for (const [words, reason] of [
        [['input.csv'], 'it takes a file to read and one to write\n'],
        [['nothing.csv', `${files.out}.new`], 'nothing.csv: No such file or directory\n'],
        [['.', `${files.out}.new`], '.: Is a directory\n'],
      ] as [string[], string][]) {
        const outcome = await files.run(program, { words });
        expect([words, outcome.code, outcome.stderr]).toEqual([words, 1, reason]);
      }
    },
  );

  /** The exit code and the stderr of `screen` if the service gives this answer; `null` means that its address is not set. */
  async function screenWith(response: Response | null) {
    const front = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => response!.clone() as Response });
    const options: RunOptions = { program: 'screen', words: files.words };
    const url = response === null ? '' : front.url.origin;
    const { code, stderr } = await outcomeOf(start(url, language, files.caller.key, options));
    await front.stop(true);
    return [code, stderr];
  }

  const debts = { tax_debt: null, social_security_debt: null };

  test('asks again for a company for which the service was too busy', async () => {
    await Bun.write(files.input, `${nif(0)}\n${nif(1)}\n`);
    const problem = { type: 'http://127.0.0.1/problems/service-unavailable', status: 503 };
    const busy = Response.json({
      data: [
        { nif: nif(0), status: 200, debts },
        { nif: nif(1), status: 503, problem },
      ],
      datasets: { tax: '2026-10-31', social_security: '2026-10-31' },
    });
    expect(await screenWith(busy)).toEqual([1, 'service-unavailable: stopped after 1 of 2 companies\n']);
    expect(await files.run('screen')).toMatchObject({ code: 0, stdout: '1 companies screened\n' });
    expect((await files.lines()).slice(1)).toEqual([`${nif(0)},200,,,,,,`, `${nif(1)},200,,,,,,`]);
  });

  test('tells in one line that the address is wrong or missing', async () => {
    const told = 'no answer of the service: is DIRECTORY_URL right, and is no proxy in between?\n';
    for (const [status, text] of [
      [502, '<html>'],
      [502, '[1]'],
      [502, ''],
      [200, '<html>'],
    ] as const) {
      const outcome = await screenWith(new Response(text, { status }));
      expect([text, ...outcome]).toEqual([text, 1, told]);
    }
    expect(await screenWith(null)).toEqual([1, 'set DIRECTORY_URL and API_KEY\n']);
  });

  test('says that a list was never imported', async () => {
    await Bun.write(files.input, nif(0));
    const data = [{ nif: nif(0), status: 200, debts }];
    const answer = Response.json({ data, datasets: { tax: null, social_security: null } });
    expect(await screenWith(answer)).toEqual([0, expect.stringContaining('never imported')]);
  });
});
