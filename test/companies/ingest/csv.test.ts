/** The formats, the names of columns, and rows with what csv-property.test.ts does not see: what a reject shows, long rows, long files. */
import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import {
  DIRECTORY,
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

test.each([
  ['commas', 'nif,legal_name\n500002576,"ACME, LDA"\n'],
  ['semicolons', 'nif;legal_name\n500002576;ACME, LDA\n'],
  ['CRLF', '"nif";"legal_name"\r\n"500002576";"ACME, LDA"\r\n'],
  ['tabs', 'nif\tlegal_name\n500002576\tACME, LDA\n'],
  ['tabs and quotes', 'nif\tlegal_name\n500002576\t"ACME, LDA"\n'],
  ['JSON with text', '{"nif":"500002576","legal_name":"ACME, LDA"}\n'],
  ['JSON with a number', '{"nif":500002576,"legal_name":"ACME, LDA"}\n'],
  ['a byte order mark', '\ufeffnif,legal_name\n500002576,"ACME, LDA"'],
  ['a byte order mark before JSON', '\ufeff{"nif":500002576,"legal_name":"ACME, LDA"}'],
  ['other columns and cases', 'Legal_Name , NIF ,x\n"ACME, LDA",500002576,y\n'],
  ['blank lines first', '\n\r\n  \nnif,legal_name\n500002576,"ACME, LDA"\n'],
  [
    'a header of several lines',
    '"nif","note, with ""commas"" and\nlines",legal_name\n500002576,x,"ACME, LDA"\n',
  ],
])('%s are read, packed or not, from standard input or a file, whatever its name', async (_, content) => {
  const packed = gzipSync(content);
  for (const source of [
    ...['a.csv', 'a.TSV', 'a.jsonl', 'a.json', 'a.csv.gz', 'a'].map((name) => [name, content] as const),
    ...['a.csv', 'a.json.gz', 'a'].map((name) => [name, packed] as const),
  ].map(([name, bytes]) => ({ path: fileWith(name, bytes) })))
    expect(await valuesOf(readAll(source))).toEqual([['500002576', 'ACME, LDA']]);
  for (const stdin of [streamOf(content, [7]), streamOf(packed, [1])])
    expect(await valuesOf(readAll({ stdin }))).toEqual([['500002576', 'ACME, LDA']]);
});

test('a file of several gzip members is read to its end', async () => {
  const members = Buffer.concat([gzipSync(HEADER), gzipSync('1,a\n2,'), gzipSync('b\n')]);
  expect(await valuesOf(readAll({ path: fileWith('members.csv.gz', members) }))).toEqual([
    ['1', 'a'],
    ['2', 'b'],
  ]);
});

describe('rows', () => {
  test('with text in more columns than the header are rejected whole: which part belongs where is unknown', async () => {
    const content = `${HEADER}500002576,Silva, Lda\n1,"a\nb",c\r\n2,"a, b"\n3,a,"","\n",x\n4,a,é\n5,a,b\n6,e, ,"  ",\r`;
    const reading = await readCsv(content);
    expect(reading.rows.map((row) => [row.line, ...row.values])).toEqual([
      [5, '2', 'a, b'],
      [10, '6', 'e'],
    ]);
    const reason = 'more fields than the header: text with the delimiter in it needs quotes';
    expect(reading.rejected).toEqual([
      { line: 2, reason, raw: '500002576,Silva, Lda' },
      { line: 3, reason, raw: '1,"a\nb",c' },
      { line: 6, reason, raw: '3,a,"","\n",x' },
      { line: 8, reason, raw: '4,a,é' },
      { line: 9, reason, raw: '5,a,b' },
    ]);
  });
});

describe('quotes that make no sense', () => {
  const many = Array.from({ length: 50_000 }, (_, i) => `${i},name of ${i}`);

  test.each([
    [',', [{ line: 50_002, reason: 'quote not closed', raw: '-1,"open' }]],
    ['\t', []],
  ])(
    'cost their own line of CSV in a long file, and nothing of TSV, with %j',
    async (delimiter, rejected) => {
      const content = [HEADER.trim(), ...many, '-1,"open', ...many].join('\n').replaceAll(',', delimiter);
      const reading = await readCsv(content);
      expect(reading.rejected).toEqual(rejected);
      expect(reading.rows).toHaveLength(100_001 - rejected.length);
      expect(reading.rows.at(-1)).toMatchObject({ line: 100_002, values: ['49999', 'name of 49999'] });
    },
  );

  test.each([
    // Each ends in an open quote, whether it begins inside a quoted field or not.
    ['that open', 'x","\n'],
    ['that close at once', 'x\t"\t"\n'],
    ['that are doubled and never closed', '"x\t""\n'],
    ['with text behind them', '"x"y\t"x" z\n'],
    ['that open another field in every line', 'x"\t"\n'],
    ['that close a field of the line before and open another', 'x\t"\n"\t"\n'],
  ])('%s, on every line, cost time in proportion to the file', async (_, line) => {
    // A reader that went back to every line, and read 64 KiB each time, would take minutes, and the test would time out.
    const times = 400_000;
    const header = line.includes('\t') ? 'nif\tlegal_name' : 'nif,legal_name';
    const last = header.replace('nif', '1').replace('legal_name', 'a');
    const { rows } = await readCsv(`${header}\n${line.repeat(times)}${last}\n`);
    const lines = times * (line.split('\n').length - 1);
    expect(rows.at(-1)).toEqual({ line: lines + 2, values: ['1', 'a'], raw: last });
  });
});

describe('rows over 64 KiB', () => {
  const LONGEST = 64 * 1024;
  const rowOf = (length: number) => `1,${'x'.repeat(length - 2)}`;

  test.each(['\n', '\r\n'])('are rejected, one of 64 KiB is not, with line breaks %j', async (lineBreak) => {
    for (const length of [0, 1, 2, 3, 2 * LONGEST, 19 * LONGEST].map((more) => LONGEST + more)) {
      const isRejected = length > LONGEST;
      for (const tail of ['', lineBreak, `${lineBreak}2,b`]) {
        const { rows, rejected } = await readCsv(`${HEADER}0,a${lineBreak}${rowOf(length)}${tail}`);
        const expected = ['0', ...(isRejected ? [] : ['1']), ...(tail.endsWith('b') ? ['2'] : [])];
        expect(rows.map((row) => row.values[0]!)).toEqual(expected);
        expect(rejected).toEqual(
          isRejected ? [{ line: 3, reason: 'row over 64 KiB', raw: rowOf(length).slice(0, 1_000) }] : [],
        );
        if (tail.endsWith('b')) expect(rows.at(-1)!.line).toBe(4);
      }
    }
  });

  test('are rejected when one quoted field makes them so, as long as quotes or not', async () => {
    for (const long of [`1,"${'x'.repeat(LONGEST)}"`, `1,${'"'.repeat(LONGEST)}`]) {
      const reading = readCsv(`${HEADER}${long}\n2,b\n`);
      expect(await rejectsOf(reading)).toEqual([[2, 'row over 64 KiB']]);
      expect(await valuesOf(reading)).toEqual([['2', 'b']]);
    }
  });

  test('are rejected when the lines of a quoted field make them so: their first line is', async () => {
    const rowOf = (length: number) => `1,"${'x'.repeat(length - 6)}\ny"`;
    expect(await rejectsOf(readCsv(HEADER + rowOf(LONGEST)))).toEqual([]);
    expect(await rejectsOf(readCsv(HEADER + rowOf(LONGEST + 1)))).toEqual([[2, 'quote not closed']]);
  });

  test('show their beginning without a character cut in half', async () => {
    for (const [nif, shown] of [
      ['1', 499],
      ['12', 498],
    ] as const) {
      const { rejected } = await readCsv(`${HEADER}${nif},${'\u{1f600}'.repeat(20_000)}\n`);
      expect(rejected[0]!.raw).toBe(`${nif},${'\u{1f600}'.repeat(shown)}`);
    }
  });
});

describe('columns under the file’s own names', () => {
  test('a dot goes into an object of JSON, unless a member is named so, and is a dot in a header', async () => {
    const sources = { nif: 'a.b.c', legal_name: 'Firma' };
    const at = (name: string, content: string) =>
      valuesOf(readAll({ path: fileWith(name, content) }, DIRECTORY, { sources }));
    const objects =
      '{"a":{"b":{"c":1}},"firma":"x"}\n{"A":{" b":{"C":2}},"Firma ":"y"}\n{"a.b.c":3,"a":4,"Firma":"z"}';
    const expected = ['1', '2', '3'].map((nif, i) => [nif, 'xyz'[i]!]);
    expect(await at('a.jsonl', objects)).toEqual(expected);
    expect(await at('a.csv', 'FIRMA; A.b.c ;nif\nx;1;9\ny;2;9\nz;3;9\n')).toEqual(expected);
    const broken = '{"a":{"b":7},"Firma":"x"}\n{"a":null,"Firma":"x"}\n{"a":{"b":{"c":1}},"Firma":"x"}\n';
    expect(await at('b.jsonl', broken)).toEqual([
      [null, 'x'],
      [null, 'x'],
      ['1', 'x'],
    ]);
  });

  test('every member that a refusal lists is read by the name in the list', async () => {
    const object = { a: { 'b.c': { d: 'x' }, 'b.d': 'y' }, 'e.f': { g: 'z' }, nif: 1 };
    const file = { path: fileWith('a.jsonl', JSON.stringify(object)) };
    const refusal = await readAll(file, DIRECTORY, { sources: { legal_name: 'h' } }).catch(
      ({ message }) => message as string,
    );
    const names = JSON.parse(`[${/the first has (.+): say/.exec(String(refusal))![1]}]`) as string[];
    const read = names.map((legal_name) => valuesOf(readAll(file, DIRECTORY, { sources: { legal_name } })));
    expect(await Promise.all(read)).toEqual(['x', 'y', 'z', '1'].map((value) => [['1', value]]));
  });

  test('accents match however the file and the command line encode them', async () => {
    for (const [given, found] of [
      ['NFC', 'NFD'],
      ['NFD', 'NFC'],
    ]) {
      const sources = { legal_name: 'Denominação'.normalize(given) };
      const header = 'Denominação'.normalize(found);
      for (const [name, content] of [
        ['a.csv', `nif,${header}\n1,x\n`],
        ['a.jsonl', JSON.stringify({ nif: '1', [header]: 'x' })],
      ] as const)
        expect(await valuesOf(readAll({ path: fileWith(name, content) }, DIRECTORY, { sources }))).toEqual([
          ['1', 'x'],
        ]);
    }
  });
});

test('Excel’s line that names the delimiter is passed, and counts as a line', async () => {
  for (const first of ['sep=;\n', 'sep=;\r\n', '"sep=;"\n', 'SEP=;;\n']) {
    const content = `\ufeff${first}nif;legal_name\n1;a\n`;
    for (const source of [{ path: fileWith('a.csv', content) }, { stdin: streamOf(content, [5]) }]) {
      const { rows } = await readAll(source);
      expect(rows.map(({ line, values }) => [line, ...values])).toEqual([[3, '1', 'a']]);
    }
  }
});
