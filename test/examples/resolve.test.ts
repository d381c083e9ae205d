/** The example that gives each name of a file its NIF: which rows it takes, what it pays, and what a killed run leaves. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { appendFile, rm } from 'node:fs/promises';
import { nif } from '../support/companies.ts';
import { eventually } from '../support/until.ts';
import { type Files, LANGUAGES, startExamples } from './programs.ts';

const { api, withFile } = await startExamples();
afterAll(() => api.stop());

// Quoted, with quotes in it, with more words than its company, and found nowhere.
const NAMES = [
  'Filhos Ábaco, Lda',
  'O "Grande" Abacate',
  'Abacate',
  'Abaco um dois tres quatro cinco seis sete oito nove',
  'caracol «doce»',
  ...Array.from({ length: 245 }, (_, n) => `Desconhecida ${n}`),
];
const CSV = `Nome,Desde\n${NAMES.map((name) => `"${name.replaceAll('"', '""')}",2020\n`).join('')}`;
const MISSING = ['um', 'dois', 'tres', 'quatro', 'cinco', 'seis', 'sete', 'oito', 'nove']
  .map((word) => `${word} missing`)
  .join('; ');
const HEADING = 'heading: Nome\n';
const COLUMNS = 'nif,likeliest,legal_name,clear,extra,evidence,status';

const FOUND = '500002576,,"Ábaco & Filhos, Lda",true,0,filhos same; abaco same,200';

/** A file, what the program says of it, and the lines that it writes. */
type Taken = [what: string, content: string | Buffer, told: string, lines: string[]];
const resolved = (names: number) => `${names} names resolved, 0 to look at\n`;

/** Columns that end with a character, of which a row may have fewer or more, and a row without a name. */
function separatedBy(separator: string): Taken {
  const quoted = (text: string, mark: string) => (mark === separator ? `"${text}"` : text);
  const [lda, same] = [quoted('Ábaco & Filhos, Lda', ','), quoted('filhos same; abaco same', ';')];
  const abacate = ['500002568', '', 'Abacate Lda', 'true', '0', 'abacate same', '200'];
  const rows: [row: string[], found: string[]][] = [
    [['Nome', 'nif', '"Valor ""líquido"" €"', 'status'], COLUMNS.split(',')],
    [
      ['" Filhos Ábaco"', '1', ' 1.000 ', 'x'],
      ['500002576', '', lda, 'true', '0', same, '200'],
    ],
    [['Abacate'], abacate],
    [['"Abacate"', '', `"a${separator}b"`, '', 'wider'], abacate],
  ];
  const lines = [...rows.map(([row]) => row.join(separator)), `" "${separator}Lisboa`];
  return [
    `columns that end with ${JSON.stringify(separator)}`,
    `\ufeff${lines.join('\r\n')}\r\n`,
    `left out, no name: " "${separator.replace('\t', ' ')}Lisboa\n${HEADING}${resolved(3)}`,
    rows.map(([row, found]) => [...row, ...Array(5 - row.length).fill(''), ...found].join(separator)),
  ];
}

const UTF16: Taken = [
  'UTF-16 as spreadsheets save it',
  Buffer.from('\ufeffNome\r\nFilhos Ábaco\r\n', 'utf16le'),
  HEADING + resolved(1),
  [`Nome,${COLUMNS}`, `Filhos Ábaco,${FOUND}`],
];

describe.each(LANGUAGES)('the example that resolves names in %s', (language) => {
  let files: Files;
  beforeEach(async () => {
    files = await withFile(language, CSV);
  });

  test('gives each name its NIF; killed and run again, it pays for each name once', async () => {
    await files.run('resolve', { killAt: 3 });
    // Five names have a candidate, and the second batch, without one, costs its least.
    await eventually(files.used, 6);
    expect(await files.lines()).toHaveLength(201);
    // The killed run was in the middle of a line.
    await appendFile(files.out, '"Desconhec');
    const { code, stderr, stdout } = await files.run('resolve');
    expect([code, stderr, stdout]).toEqual([0, HEADING, '50 names resolved, 50 to look at\n']);
    await eventually(files.used, 7);
    const [header, ...rows] = await files.lines();
    expect(header).toBe(`Nome,Desde,${COLUMNS}`);
    expect(rows.slice(0, 5)).toEqual([
      '"Filhos Ábaco, Lda",2020,500002576,,"Ábaco & Filhos, Lda",true,0,filhos same; abaco same,200',
      '"O ""Grande"" Abacate",2020,,500002568,Abacate Lda,false,0,grande missing; abacate same,200',
      '"Abacate",2020,500002568,,Abacate Lda,true,0,abacate same,200',
      `"Abaco um dois tres quatro cinco seis sete oito nove",2020,,500002576,"Ábaco & Filhos, Lda",false,1,abaco same; ${MISSING},200`,
      `"caracol «doce»",2020,${nif(900)},,"Caracol ""Doce"" \\ Filhos, Lda",true,1,caracol same; doce same,200`,
    ]);
    expect(rows).toHaveLength(250);
    expect(await files.run('resolve')).toMatchObject({ code: 0, requests: [] });
  });

  test('gives names of the test world their NIFs for nothing', async () => {
    await Bun.write(files.input, 'Construções Gaia\nsearch-failed\n');
    expect(await files.runFree('resolve')).toMatchObject({ code: 0 });
    expect(await files.lines()).toEqual([
      `name,${COLUMNS}`,
      'Construções Gaia,599910089,,"Gaia Norte - Construções e Obras, Lda",true,2,construcoes same; gaia same,200',
      'search-failed,,,,false,,,500',
    ]);
    expect(await files.used()).toBe(0);
  });

  test('takes a first row for a heading if its name is one of a list, and says so; an option says it instead', async () => {
    const cases: [rows: string, option: string[], heading: string | null][] = [
      ['RAZÃO SOCIAL\nAbacate\n', [], 'RAZÃO SOCIAL'],
      ['"Designação",x\nAbacate\n', [], 'Designação'],
      ['Fornecedor\nAbacate\n', ['--no-heading'], null],
      ['Abacate\n', [], null],
      ['Quem?\nAbacate\n', ['--heading'], 'Quem?'],
    ];
    for (const [rows, option, heading] of cases) {
      await Bun.write(files.input, rows);
      await rm(files.out, { force: true });
      const words = [files.input, files.out, ...option];
      expect(await files.run('resolve', { words })).toMatchObject({
        code: 0,
        stderr: heading === null ? 'no heading\n' : `heading: ${heading}\n`,
      });
      const lines = rows.trimEnd().split('\n').length;
      expect(await files.lines()).toHaveLength(lines + (heading === null ? 1 : 0));
    }
  });

  test.each([UTF16, ...[',', ';', '\t'].map(separatedBy)])('takes %s', async (_, content, told, lines) => {
    await Bun.write(files.input, content);
    const { code, stdout, stderr } = await files.run('resolve');
    expect([code, stderr + stdout]).toEqual([0, told]);
    expect(await files.lines()).toEqual(lines);
    expect(await files.run('resolve')).toMatchObject({ code: 0, requests: [] });
  });

  test.each<[string, string | Buffer, told: string]>([
    ['no name', 'Nome\n\n', `${HEADING}input.csv: no name in its first column`],
    ['another encoding', Buffer.from('Filhos Ábaco\n', 'latin1'), 'input.csv: not UTF-8. Save it as UTF-8'],
    ...['"Ábaco;x', '"Ábaco" Lda;x'].map((bad): [string, string, string] => [
      bad,
      `Abacate;x\n${bad}\nCaracol;y\n`,
      `input.csv: a quote is not closed, or text follows it: ${bad}`,
    ]),
  ])('a file with %s is an error, and asks for nothing', async (_, content, told) => {
    await Bun.write(files.input, content);
    const { code, stderr, requests } = await files.run('resolve', { words: ['input.csv', files.out] });
    expect([code, stderr, requests]).toEqual([1, `${told}\n`, []]);
  });

  test('with --clear-only pays for clear names only, and has no other company', async () => {
    await Bun.write(files.input, 'Filhos Ábaco\nO Grande Abacate\n');
    const words = [...files.words, '--clear-only', '--no-heading'];
    expect(await files.run('resolve', { words })).toMatchObject({ code: 0, stderr: 'no heading\n' });
    expect((await files.lines()).slice(1)).toEqual([
      `Filhos Ábaco,${FOUND}`,
      'O Grande Abacate,,,,false,,,200',
    ]);
    expect(await files.used()).toBe(1);
    expect(await files.run('resolve', { words: [...files.words, '--wrong'] })).toMatchObject({ code: 1 });
  });

  test('takes quotes and line breaks as spreadsheets write them', async () => {
    const rows = [
      '5" Abacate;a',
      'O "Grande;b',
      'Abacate;"Rua 1\nLisboa ""Norte"""',
      '"Filhos\nÁbaco";"c;d"',
      'Caracol;e',
    ];
    await Bun.write(files.input, `Nome;Morada\n${rows.join('\n')}\n`);
    expect(await files.runFree('resolve')).toMatchObject({ code: 0, stderr: HEADING });
    const kept = (await files.lines())
      .slice(1)
      .join('\n')
      .split(/;(?:[0-9]{9})?;(?:[0-9]{9})?;[^;]*;(?:true|false);[0-9]*;.*;200\n?/);
    expect(kept).toEqual([...rows, '']);
  });

  test('goes on with a file about the same names only', async () => {
    await Bun.write(files.input, 'Nome\nAbacate\nCaracol\n');
    await files.runFree('resolve');
    await Bun.write(files.input, 'Nome\nÁbaco\nAbacate\nCaracol\n');
    expect(await files.run('resolve')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('its rows are not the first ones of'),
      requests: [],
    });
    await Bun.write(files.input, 'Nome\nAbacate\nCaracol\nÁbaco');
    expect(await files.runFree('resolve')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 names resolved, /),
    });
  });

  test('goes on after a run that was killed in the middle of a row with line breaks', async () => {
    const begin = `"Abacate\n\nLda","Rua é\nLisboa"`;
    await Bun.write(
      files.input,
      `Nome,"Mor\r\nada"\nCaracol,x\n${begin.replaceAll('\n', '\r\n')}\nAbacate,y\n`,
    );
    expect(await files.run('resolve')).toMatchObject({ code: 0, stderr: HEADING });
    const whole = await Bun.file(files.out).bytes();
    const text = new TextDecoder().decode(whole);
    expect(text).toStartWith(`Nome,"Mor\nada",${COLUMNS}\nCaracol,x,${nif(900)},`);
    expect(text).toContain(`\n${begin},500002568,,Abacate Lda,true,0,abacate same,200\nAbacate,y,500002568,`);
    const at = Buffer.from(whole).indexOf(begin);
    // After the first line break, in the middle of a letter, before the columns, and in them.
    const ends = ['\n', '\nLda","Rua \u00e9', 'Lisboa"', 'Abacate Lda,tr'].map(
      (part) => Buffer.from(whole).indexOf(part, at) + Buffer.byteLength(part),
    );
    for (const end of [3, at, ends[0]!, ends[1]! - 1, ends[2]!, ends[3]!]) {
      await Bun.write(files.out, whole.slice(0, end));
      expect(await files.run('resolve')).toMatchObject({ code: 0, stderr: HEADING });
      expect(await Bun.file(files.out).text()).toBe(text);
    }
  });

  test('changes no file that it has not written', async () => {
    await Bun.write(files.input, 'Nome\nAbacate\n');
    for (const other of [
      'Nome\nAbacate',
      'Nome,Cidade\nAbacate,Faro',
      'a note',
      `Nome,${COLUMNS}\nCaracol`,
    ]) {
      await Bun.write(files.out, other);
      expect(await files.run('resolve')).toMatchObject({
        code: 1,
        stderr: `${HEADING}${files.out}: its rows are not the first ones of ${files.input}. Write to another file\n`,
        requests: [],
      });
      expect(await Bun.file(files.out).text()).toBe(other);
    }
  });

  test('resolves what the credits suffice for, says so, and goes on when there are more', async () => {
    files = await withFile(language, CSV, 2);
    const { code, stderr } = await files.run('resolve');
    expect([code, stderr]).toEqual([1, expect.stringContaining('monthly-quota-exceeded')]);
    // The reads end once two names have a candidate.
    expect([(await files.lines()).length, await files.used()]).toEqual([3, 2]);
    await api.command('account', 'credits', files.caller.accountId, '--add', '500');
    expect(await files.run('resolve')).toMatchObject({ code: 0 });
    await eventually(files.used, 7);
    expect(await files.lines()).toHaveLength(251);
  });
});
