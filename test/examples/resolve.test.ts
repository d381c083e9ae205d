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

  test('takes UTF-16 as spreadsheets save it; a file without a name is an error', async () => {
    await Bun.write(files.input, Buffer.from('\ufeffNome\r\nFilhos Ábaco\r\n', 'utf16le'));
    expect(await files.run('resolve')).toMatchObject({ code: 0, stderr: HEADING });
    expect((await files.lines()).at(-1)).toBe(
      'Filhos Ábaco,500002576,,"Ábaco & Filhos, Lda",true,0,filhos same; abaco same,200',
    );
    await Bun.write(files.input, 'Nome\n\n');
    expect(await files.run('resolve')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no name in its first column'),
      requests: [],
    });
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

  test('with --clear-only pays for clear names only, and has no other company', async () => {
    await Bun.write(files.input, 'Filhos Ábaco\nO Grande Abacate\n');
    const words = [...files.words, '--clear-only', '--no-heading'];
    expect(await files.run('resolve', { words })).toMatchObject({ code: 0, stderr: 'no heading\n' });
    expect((await files.lines()).slice(1)).toEqual([
      'Filhos Ábaco,500002576,,"Ábaco & Filhos, Lda",true,0,filhos same; abaco same,200',
      'O Grande Abacate,,,,false,,,200',
    ]);
    expect(await files.used()).toBe(1);
    expect(await files.run('resolve', { words: [...files.words, '--wrong'] })).toMatchObject({ code: 1 });
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
      await Bun.write(files.input, `\ufeff${rows.map((row) => row.join(separator)).join('\r\n')}\r\n`);
      expect(await files.run('resolve')).toMatchObject({
        code: 0,
        stdout: '2 names resolved, 0 to look at\n',
        stderr: expect.stringMatching(/^left out, no name: .+Lisboa\nheading: Nome\n$/),
      });
      const reasons = separator === ';' ? '"filhos same; abaco same"' : 'filhos same; abaco same';
      const expected = [
        ['Nome', 'Cidade', ...COLUMNS.split(',')],
        ['Filhos Ábaco, Lda', 'Braga', '500002576', '', 'Ábaco & Filhos, Lda', 'true', '0', reasons, '200'],
        ['"Abacate"', '"Faro"', '500002568', '', 'Abacate Lda', 'true', '0', 'abacate same', '200'],
      ];
      expect(await files.lines()).toEqual(expected.map((row) => row.join(separator)));
    },
  );

  test('takes quotes and line breaks as spreadsheets write them; a quote that is not closed is an error', async () => {
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
    await rm(files.out);
    for (const bad of ['"Ábaco;x', '"Ábaco" Lda;x']) {
      await Bun.write(files.input, `Abacate;x\n${bad}\nCaracol;y\n`);
      expect(await files.run('resolve')).toMatchObject({
        code: 1,
        stderr: `${files.input}: a quote is not closed, or text follows it: ${bad}\n`,
        requests: [],
      });
    }
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

  test.each([
    ['commas', ','],
    ['semicolons', ';'],
  ])(
    'keeps all columns of a file with %s, and puts the same columns after each row',
    async (_, separator) => {
      const rows = [
        ['Nome', 'nif', '"Valor ""líquido"" €"', 'status'],
        ['Ábaco', '1', ' 1.000 ', 'x'],
        ['Abacate'],
        ['Abacate', '', `"a${separator}b"`, '', 'wider'],
      ];
      await Bun.write(files.input, rows.map((row) => `${row.join(separator)}\r\n`).join(''));
      expect(await files.run('resolve')).toMatchObject({ code: 0, stderr: HEADING });
      const found = [
        COLUMNS.split(','),
        [
          '500002576',
          '',
          separator === ',' ? '"Ábaco & Filhos, Lda"' : 'Ábaco & Filhos, Lda',
          'true',
          '1',
          'abaco same',
          '200',
        ],
        ...Array(2).fill(['500002568', '', 'Abacate Lda', 'true', '0', 'abacate same', '200']),
      ];
      const wide = rows.map((row, at) => [...row, ...Array(5 - row.length).fill(''), ...found[at]!]);
      expect(await files.lines()).toEqual(wide.map((row) => row.join(separator)));
      expect(await files.run('resolve')).toMatchObject({ code: 0, stderr: HEADING, requests: [] });
    },
  );

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

  test('asks for no name of a file in another encoding than UTF-8 and UTF-16', async () => {
    await Bun.write(files.input, Buffer.from('Nome\nFilhos Ábaco\n', 'latin1'));
    const { code, stderr, requests } = await files.run('resolve');
    expect([code, stderr, requests]).toEqual([1, expect.stringContaining('Save it as UTF-8'), []]);
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
