import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import {
  fileWith,
  readAll,
  readCsv,
  rejectsOf,
  removeFilesAfterwards,
  streamOf,
  valuesOf,
} from './reading.ts';

removeFilesAfterwards();

const HEADER = 'nif,legal_name\n';
const COMPANY = ['500002576', 'ACME, LDA'];

describe('formats', () => {
  const byName: [string, string][] = [
    ['a.csv', 'nif,legal_name\n500002576,"ACME, LDA"\n'],
    ['b.csv', 'nif;legal_name\n500002576;ACME, LDA\n'],
    ['c.CSV', '"nif";"legal_name"\r\n"500002576";"ACME, LDA"\r\n'],
    ['d.tsv', 'nif\tlegal_name\n500002576\tACME, LDA\n'],
    ['e.tsv', 'nif\tlegal_name\n500002576\t"ACME, LDA"\n'],
    ['f.jsonl', '{"nif":"500002576","legal_name":"ACME, LDA"}\n'],
    ['g.ndjson', '{"nif":500002576,"legal_name":"ACME, LDA"}\n'],
    ['h.csv', '\ufeffnif,legal_name\n500002576,"ACME, LDA"'],
    ['i.jsonl', '\ufeff{"nif":500002576,"legal_name":"ACME, LDA"}'],
    ['j.csv', 'Legal_Name , NIF ,x\n"ACME, LDA",500002576,y\n'],
    ['k.csv', '\n\r\n  \nnif,legal_name\n500002576,"ACME, LDA"\n'],
    ['l.csv', '"nif","note, with ""commas"" and\nlines",legal_name\n500002576,x,"ACME, LDA"\n'],
  ];

  test.each(byName)('%s is read by its name, and packed', async (name, content) => {
    expect(await valuesOf(readAll({ path: fileWith(name, content) }))).toEqual([COMPANY]);
    expect(await valuesOf(readAll({ path: fileWith(`${name}.gz`, gzipSync(content)) }))).toEqual([COMPANY]);
  });

  test.each(byName)(
    'what %s holds is read from standard input by its first line, packed too',
    async (_, content) => {
      expect(await valuesOf(readAll({ stdin: streamOf(content, [7]) }))).toEqual([COMPANY]);
      expect(await valuesOf(readAll({ stdin: streamOf(gzipSync(content), [1]) }))).toEqual([COMPANY]);
    },
  );

  test('a file of several gzip members is read to its end', async () => {
    const members = Buffer.concat([gzipSync(HEADER), gzipSync('1,a\n2,'), gzipSync('b\n')]);
    expect(await valuesOf(readAll({ path: fileWith('members.csv.gz', members) }))).toEqual([
      ['1', 'a'],
      ['2', 'b'],
    ]);
  });

  test('a packed file is known by its bytes, whatever its name', async () => {
    const path = fileWith('packed.csv', gzipSync(`${HEADER}1,a\n`));
    expect(await valuesOf(readAll({ path }))).toEqual([['1', 'a']]);
  });
});

describe('rows', () => {
  test('begin on the line that is told, whatever stands between them', async () => {
    const content = `${HEADER}\n1,a\r\n\r\n   \n2,"b\nb\r\nb"\n3,c`;
    const { rows, rejected } = await readCsv(content);
    expect(rows).toEqual([
      { line: 3, values: ['1', 'a'], raw: '1,a' },
      { line: 6, values: ['2', 'b\nb\r\nb'], raw: '2,"b\nb\r\nb"' },
      { line: 9, values: ['3', 'c'], raw: '3,c' },
    ]);
    expect(rejected).toEqual([]);
  });

  test('with fewer columns have null for the missing', async () => {
    const columns = ['nif', 'start', 'end'];
    const content = 'x,start,nif,end\na,1,2,3\na,1\na,1,2\na,1,2,\na\n"","","",""\n';
    expect(await valuesOf(readCsv(content, columns))).toEqual([
      ['2', '1', '3'],
      [null, '1', null],
      ['2', '1', null],
      ['2', '1', ''],
      [null, null, null],
      ['', '', ''],
    ]);
  });

  test('with text in more columns than the header are rejected whole: which part belongs where is unknown', async () => {
    const content = `${HEADER}500002576,Silva, Lda\n1,"a\nb",c\r\n2,"a, b"\n3,a,"","\n",x\n4,a,é\n5,a,b`;
    const reading = await readCsv(content);
    expect(reading.rows.map((row) => [row.line, ...row.values])).toEqual([[5, '2', 'a, b']]);
    const reason = 'more fields than the header: text with the delimiter in it needs quotes';
    expect(reading.rejected).toEqual([
      { line: 2, reason, raw: '500002576,Silva, Lda' },
      { line: 3, reason, raw: '1,"a\nb",c' },
      { line: 6, reason, raw: '3,a,"","\n",x' },
      { line: 8, reason, raw: '4,a,é' },
      { line: 9, reason, raw: '5,a,b' },
    ]);
    const debts = ['nif', 'start', 'end'];
    expect(await rejectsOf(readCsv('nif,start,end\n500002576,1,500,2,000\n', debts))).toEqual([[2, reason]]);
  });

  test('with further columns that are all empty are taken', async () => {
    const content = `${HEADER}1,a,\n2,b,,,\r\n3,"c",""\n4,d, ,"  "\n5,e,\r`;
    const reading = readCsv(content);
    expect(await valuesOf(reading)).toEqual([
      ['1', 'a'],
      ['2', 'b'],
      ['3', 'c'],
      ['4', 'd'],
      ['5', 'e'],
    ]);
    expect(await rejectsOf(reading)).toEqual([]);
  });

  test('keep spaces, lone CRs and quotes inside unquoted fields as they are', async () => {
    const content = `${HEADER} 1 , a"b" \n2,x\ry\n3,O ""Zé""\n4,\u00e9\u0000\u{1f600}\n5,"a""b"\n6,""\n7,""""\n8,"x" \r\n`;
    expect(await valuesOf(readCsv(content))).toEqual([
      [' 1 ', ' a"b" '],
      ['2', 'x\ry'],
      ['3', 'O ""Zé""'],
      ['4', '\u00e9\u0000\u{1f600}'],
      ['5', 'a"b'],
      ['6', ''],
      ['7', '"'],
      ['8', 'x'],
    ]);
  });

  test('a last line may end in CR, or in nothing', async () => {
    expect(await valuesOf(readCsv(`${HEADER}1,a\r`))).toEqual([['1', 'a']]);
    expect(await valuesOf(readCsv(`${HEADER}1,"a"\r`))).toEqual([['1', 'a']]);
    expect(await valuesOf(readCsv(`${HEADER}1,"a"`))).toEqual([['1', 'a']]);
    expect(await valuesOf(readCsv(`${HEADER}1,`))).toEqual([['1', '']]);
    expect(await valuesOf(readCsv(HEADER))).toEqual([]);
    expect(await valuesOf(readCsv('nif,legal_name'))).toEqual([]);
  });
});

describe('quotes that make no sense', () => {
  test('in a long file cost their own line', async () => {
    const many = Array.from({ length: 100_000 }, (_, i) => `${i},name of ${i}`);
    const content = `${HEADER}${many.slice(0, 50_000).join('\n')}\n-1,"open\n${many.slice(50_000).join('\n')}\n`;
    const reading = await readCsv(content);
    expect(reading.rows.map((row) => `${row.values[0]},${row.values[1]}`)).toEqual(many);
    expect(reading.rows.at(-1)!.line).toBe(100_002);
    expect(reading.rejected).toEqual([{ line: 50_002, reason: 'quote not closed', raw: '-1,"open' }]);
  });

  test('text after a closing quote rejects the row', async () => {
    const reading = readCsv(`${HEADER}1,"a" b\n2,"a"" b"\n3,"a"b",c\n4,x\n`);
    expect(await valuesOf(reading)).toEqual([
      ['2', 'a" b'],
      ['4', 'x'],
    ]);
    expect(await rejectsOf(reading)).toEqual([
      [2, 'text after a closing quote'],
      [4, 'text after a closing quote'],
    ]);
  });

  test('on every line of a file cost time in proportion to its length', async () => {
    // Each of these lines ends in an open quote, whether it begins inside a quoted field or not.
    const lines = 400_000;
    // A reader that went back to every line, and read 64 KiB each time, would take minutes, and the test would time out.
    const { rows, rejected } = await readCsv(`${HEADER}${'x","\n'.repeat(lines)}1,a\n`);
    expect(rejected.length + rows.length).toBeGreaterThan(lines / 2);
    expect(rows.at(-1)).toEqual({ line: lines + 2, values: ['1', 'a'], raw: '1,a' });
  });
});

describe('quotes in TSV', () => {
  const readTsv = (content: string) => readAll({ path: fileWith('rows.tsv', `nif\tlegal_name\n${content}`) });

  test('around a whole field are taken off, as a spreadsheet puts them there, over several lines too', async () => {
    const content = '1\t"a\tb"\n2\t"O ""Zé"""\r\n3\t"c\nd"\n"4"\t"e" \n5\t""\n';
    const reading = await readTsv(content);
    expect(reading.rows.map((row) => [row.line, ...row.values])).toEqual([
      [2, '1', 'a\tb'],
      [3, '2', 'O "Zé"'],
      [4, '3', 'c\nd'],
      [6, '4', 'e'],
      [7, '5', ''],
    ]);
    expect(reading.rejected).toEqual([]);
  });

  test('that are never closed are text in a long file too', async () => {
    const many = Array.from({ length: 50_000 }, (_, i) => `${i}\tname of ${i}`);
    const { rows, rejected } = await readTsv(`-1\t"open\n${many.join('\n')}\n`);
    expect(rows.map((row) => row.values.join('\t'))).toEqual(['-1\t"open', ...many]);
    expect(rows.at(-1)!.line).toBe(50_002);
    expect(rejected).toEqual([]);
  });

  test.each([
    ['that close at once', 'x\t"\t"\n'],
    ['that are doubled and never closed', '"x\t""\n'],
    ['with text behind them', '"x"y\t"x" z\n'],
    ['that open another field in every line', 'x"\t"\n'],
    ['that close a field of the line before and open another', 'x\t"\n"\t"\n'],
  ])('%s, on every line, cost time in proportion to the file', async (_, line) => {
    const times = 400_000;
    const { rows } = await readTsv(`${line.repeat(times)}1\ta\n`);
    const lines = times * (line.split('\n').length - 1);
    expect(rows.at(-1)).toEqual({ line: lines + 2, values: ['1', 'a'], raw: '1\ta' });
  });
});

describe('rows over 64 KiB', () => {
  const LONGEST = 64 * 1024;
  const rowOf = (length: number) => `1,${'x'.repeat(length - 2)}`;

  test.each(['\n', '\r\n'])('are rejected, one of 64 KiB is not, with line breaks %j', async (lineBreak) => {
    for (const [length, isRejected] of [
      [LONGEST, false],
      [LONGEST + 1, true],
      [LONGEST + 2, true],
      [LONGEST + 3, true],
      [3 * LONGEST, true],
      [20 * LONGEST, true],
    ] as const) {
      for (const tail of ['', lineBreak, `${lineBreak}2,b`]) {
        const { rows, rejected } = await readCsv(`${HEADER}0,a${lineBreak}${rowOf(length)}${tail}`);
        const expected = isRejected ? [0, 2] : [0, 1, 2];
        expect(rows.map((row) => row.values[0])).toEqual(
          expected.filter((nif) => nif < 2 || tail.endsWith('b')).map(String),
        );
        expect(rejected).toEqual(
          isRejected ? [{ line: 3, reason: 'row over 64 KiB', raw: rowOf(length).slice(0, 1_000) }] : [],
        );
        if (tail.endsWith('b')) expect(rows.at(-1)!.line).toBe(4);
      }
    }
  });

  test('are rejected when one quoted field makes them so, as long as quotes or not', async () => {
    const long = `1,"${'x'.repeat(LONGEST)}"`;
    expect(await rejectsOf(readCsv(`${HEADER}${long}\n2,b\n`))).toEqual([[2, 'row over 64 KiB']]);
    const quotes = `1,${'"'.repeat(LONGEST)}`;
    expect(await rejectsOf(readCsv(`${HEADER}${quotes}\n2,b\n`))).toEqual([[2, 'row over 64 KiB']]);
    expect(await valuesOf(readCsv(`${HEADER}${quotes}\n2,b\n`))).toEqual([['2', 'b']]);
  });

  test('show their beginning without a character cut in half', async () => {
    const { rejected } = await readCsv(`${HEADER}1,${'\u{1f600}'.repeat(20_000)}\n`);
    expect(rejected[0]!.raw).toBe(`1,${'\u{1f600}'.repeat(499)}`);
    expect(
      (await readCsv(`${HEADER}12,${'\u{1f600}'.repeat(20_000)}\n`)).rejected[0]!.raw.isWellFormed(),
    ).toBe(true);
  });
});
