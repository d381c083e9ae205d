/** The example that gives each name of a file its NIF: which rows it takes, what it pays, and what a killed run leaves. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { appendFile, rm } from 'node:fs/promises';
import { nif } from '../support/companies.ts';
import { eventually } from '../support/until.ts';
import { type Files, LANGUAGES, startExamples } from './programs.ts';

const { api, withFile } = await startExamples();
afterAll(() => api.stop());

// Quoted, with quotes in it, with more words than any company, and found nowhere.
const NAMES = [
  'Filhos Ábaco, Lda',
  'O "Grande" Abacate',
  'Abacate',
  'Abaco um dois tres quatro cinco seis sete oito nove',
  'caracol «doce»',
  ...Array.from({ length: 245 }, (_, n) => `Desconhecida ${n}`),
];
const CSV = `Nome,Desde\n${NAMES.map((name) => `"${name.replaceAll('"', '""')}",2020\n`).join('')}`;

describe.each(LANGUAGES)('the example that resolves names in %s', (language) => {
  let files: Files;
  beforeEach(async () => {
    files = await withFile(language, CSV);
  });

  test('gives each name its NIF; killed and run again, it pays for each name once', async () => {
    await files.run('resolve', { killAt: 3 });
    // Four names have a candidate, and the second batch, without one, costs its least.
    await eventually(files.used, 5);
    expect(await files.lines()).toHaveLength(201);
    // The killed run was in the middle of a line.
    await appendFile(files.out, 'Desconhec');
    const { code, stderr, stdout } = await files.run('resolve');
    expect([code, stderr, stdout]).toEqual([0, '', '50 names resolved, 50 to look at\n']);
    await eventually(files.used, 6);
    const [header, ...rows] = await files.lines();
    expect(header).toBe('name,status,clear,nif,legal_name,evidence');
    expect(rows.slice(0, 5)).toEqual([
      '"Filhos Ábaco, Lda",200,true,500002576,"Ábaco & Filhos, Lda",filhos same; abaco same',
      '"O ""Grande"" Abacate",200,false,500002568,Abacate Lda,grande missing; abacate same',
      'Abacate,200,true,500002568,Abacate Lda,abacate same',
      'Abaco um dois tres quatro cinco seis sete oito nove,200,false,,,',
      `caracol «doce»,200,true,${nif(900)},"Caracol ""Doce"" \\ Filhos, Lda",caracol same; doce same`,
    ]);
    expect(rows).toHaveLength(250);
    expect(await files.run('resolve')).toMatchObject({ code: 0, requests: [] });
  });

  test('gives names of the test world their NIFs for nothing', async () => {
    await Bun.write(files.input, 'Construções Gaia\nsearch-failed\n');
    expect(await files.runFree('resolve')).toMatchObject({ code: 0 });
    expect((await files.lines()).slice(1)).toEqual([
      'Construções Gaia,200,true,599910089,"Gaia Norte - Construções e Obras, Lda",construcoes same; gaia same',
      'search-failed,500,false,,,',
    ]);
    expect(await files.used()).toBe(0);
  });

  test('takes UTF-16 as spreadsheets save it; a file without a name is an error', async () => {
    await Bun.write(files.input, Buffer.from('\ufeffNome\r\nFilhos Ábaco\r\n', 'utf16le'));
    expect(await files.run('resolve')).toMatchObject({ code: 0, stderr: '' });
    expect((await files.lines()).at(-1)).toBe(
      'Filhos Ábaco,200,true,500002576,"Ábaco & Filhos, Lda",filhos same; abaco same',
    );
    await Bun.write(files.input, 'Nome\n\n');
    expect(await files.run('resolve')).toMatchObject({
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
      await Bun.write(files.input, `\ufeff${rows.map((row) => row.join(separator)).join('\r\n')}\r\n`);
      expect(await files.run('resolve')).toMatchObject({
        code: 0,
        stdout: '2 names resolved, 0 to look at\n',
        stderr: expect.stringMatching(/^left out, no name: .+Lisboa\n$/),
      });
      expect((await files.lines()).slice(1)).toEqual([
        '"Filhos Ábaco, Lda",200,true,500002576,"Ábaco & Filhos, Lda",filhos same; abaco same',
        'Abacate,200,true,500002568,Abacate Lda,abacate same',
      ]);
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
    expect(await files.runFree('resolve')).toMatchObject({ code: 0, stderr: '' });
    const names = ['"5"" Abacate"', '"O ""Grande"', 'Abacate', 'Filhos Ábaco', 'Caracol'];
    expect((await files.lines()).slice(1).map((row) => row.split(',')[0]!)).toEqual(names);
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
      stderr: expect.stringContaining('its names are not the first ones of'),
      requests: [],
    });
    await Bun.write(files.input, 'Nome\nAbacate\nCaracol\nÁbaco');
    expect(await files.runFree('resolve')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 names resolved, /),
    });
  });

  test('asks for no name of a file in another encoding than UTF-8 and UTF-16', async () => {
    await Bun.write(files.input, Buffer.from('Nome\nFilhos Ábaco\n', 'latin1'));
    const { code, stderr, requests } = await files.run('resolve');
    expect([code, stderr, requests]).toEqual([1, expect.stringContaining('Save it as UTF-8'), []]);
  });

  test('resolves what the credits suffice for, says so, and goes on when there are more', async () => {
    files = await withFile(language, CSV, 30);
    const { code, stderr } = await files.run('resolve');
    expect([code, stderr]).toEqual([1, expect.stringContaining('monthly-quota-exceeded')]);
    expect(await files.lines()).toHaveLength(31);
    await api.command('account', 'credits', files.caller.accountId, '--add', '500');
    expect(await files.run('resolve')).toMatchObject({ code: 0 });
    await eventually(files.used, 7);
    expect(await files.lines()).toHaveLength(251);
  });
});
