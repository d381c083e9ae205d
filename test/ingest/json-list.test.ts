import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { WINDOW_BYTES } from '../../src/ingest/open-rows.ts';
import { MAX_ROW_BYTES } from '../../src/ingest/rows.ts';
import {
  DIRECTORY,
  type Everything,
  fileWith,
  readAll,
  refusal,
  rejectsOf,
  removeFilesAfterwards,
  streamOf,
  valuesOf,
} from './reading.ts';

removeFilesAfterwards();

const DEBTS = ['nif', 'start', 'end'];
const DEBTOR_SOURCES = { nif: 'nipc', start: 'step.start', end: 'step.end' };

function readJson(content: string | Uint8Array, list: string | null = null): Promise<Everything> {
  return readAll({ path: fileWith('rows.json', content) }, DIRECTORY, { list });
}

const debtors = JSON.stringify(
  {
    singular_debtors: [{ name: 'Pessoa', nif: 123456789, step: { start: 1, end: 2 } }],
    colective_debtors: [
      { name: 'Padaria "A", Lda }', step: { start: 7500, end: 25000 }, nipc: 500002576 },
      { name: 'Talho [B] \\', step: { start: 5000000, end: null }, nipc: 500004064 },
    ],
    last_updated: '2026-09-20',
  },
  null,
  2,
);

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

describe('a JSON list', () => {
  test('gives its objects with the line that each begins on, however they are spread over lines', async () => {
    const content = `\ufeff [ {"nif":"1","legal_name":"a"},{"nif":2,"legal_name":"b"}\n,\r\n{\n"nif":"3",\n"legal_name":null}\n\n, {"NIF":" 4","legal_name":"}]\\"[{"} ]\n`;
    expect((await readJson(content)).rows.map(({ line, values }) => [line, ...values])).toEqual([
      [1, '1', 'a'],
      [1, '2', 'b'],
      [3, '3', null],
      [7, ' 4', '}]"[{'],
    ]);
    expect(await readJson('[]')).toEqual({ rows: [], rejected: [] });
  });

  test('rejects what is no object, and an object that can not be read, and goes on', async () => {
    const content = `[{"nif":"1","legal_name":"a"},
null, 7, "x,]", [{"nif":"9"}], true,
{"nif":"2" "legal_name":"b"}, {"nif":-5,"legal_name":"c"},
{"nif":"3","legal_name":"d"}]`;
    const { rows, rejected } = await readJson(content);
    expect(rows.map(({ values }) => values[0])).toEqual(['1', '3']);
    expect(rejected.map(({ line, reason, raw }) => [line, reason, raw])).toEqual([
      [2, 'not a JSON object', 'null'],
      [2, 'not a JSON object', '7'],
      [2, 'not a JSON object', '"x,]"'],
      [2, 'not a JSON object', '[{"nif":"9"}]'],
      [2, 'not a JSON object', 'true'],
      [3, 'not a JSON object', '{"nif":"2" "legal_name":"b"}'],
      [3, 'nif is not a whole number', '{"nif":-5,"legal_name":"c"}'],
    ]);
  });

  test('rejects an object over 64 KiB, not one of 64 KiB', async () => {
    const around = '{"nif":"1","legal_name":""}'.length;
    for (const length of [65_536, 65_537, 300_000, 2_000_000]) {
      const long = `{"nif":"1","legal_name":"${'é'.repeat((length - around) >> 1)}${'x'.repeat((length - around) & 1)}"}`;
      expect(Buffer.byteLength(long)).toBe(length);
      const { rows, rejected } = await readJson(`[${long},\n{"nif":"2","legal_name":"b"}]`);
      expect(rows.map(({ line }) => line)).toEqual(length > 65_536 ? [2] : [1, 2]);
      expect(rejected.map(({ line, reason }) => [line, reason])).toEqual(
        length > 65_536 ? [[1, 'row over 64 KiB']] : [],
      );
    }
  });

  test('reads alike whatever the pieces it comes in, packed, by its name and on standard input', async () => {
    const entry = fc.record({
      nif: fc.string({ unit: 'binary' }),
      legal_name: fc.string({ maxLength: 40_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1 }), fc.boolean(), async (entries, indented) => {
        const content = JSON.stringify(entries, null, indented ? 2 : 0);
        const expected = entries.map(({ nif, legal_name }) => [nif, legal_name]);
        expect(await valuesOf(readJson(content))).toEqual(expected);
        expect(await valuesOf(readAll({ path: fileWith('rows.json.gz', gzipSync(content)) }))).toEqual(
          expected,
        );
        expect(await valuesOf(readAll({ stdin: streamOf(content, [1_000, 7, 70_000]) }))).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  test('takes any JSON for what it is: objects are rows, and all else is rejected', async () => {
    const any = fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(any), fc.nat(4), async (values, indent) => {
        const rows = values.map((value) => (isObject(value) ? { nif: '1', nested: value } : value));
        const document = { beside: values, list: [...rows, { nif: '1' }], after: values };
        const content = JSON.stringify(document, null, indent);
        const read = await readAll({ stdin: streamOf(content, [1, 17]) }, ['nif'], { list: 'list' });
        expect(read.rows).toHaveLength(values.filter(isObject).length + 1);
        expect(read.rejected).toHaveLength(values.filter((value) => !isObject(value)).length);
      }),
      { numRuns: 200 },
    );
  });

  test('is refused as a whole when it was cut off, wherever, or is no JSON between its objects', async () => {
    const whole = '[{"nif":"1","legal_name":"a"},{"nif":"2","legal_name":"b"}]';
    for (let length = 1; length < whole.length; length++)
      expect(await refusal(readJson(whole.slice(0, length)))).toStartWith(
        'rows.json: the JSON ends in the middle: the file was cut off',
      );
    const open = `[{"nif":"1","legal_name":"a},\n${'{"nif":"2","legal_name":"b"},\n'.repeat(20_000)}`;
    expect(await refusal(readJson(open))).toContain('or a quote or bracket is not closed');
    for (const [content, message] of [
      ['nif,legal_name\n1,a\n', 'is not JSON; expected a list of objects'],
      ['[{"nif":"1"}\n{"nif":"2"}]', 'line 2 is not JSON: expected , or ]'],
      ['[,{"nif":"1"}]', 'line 1 is not JSON: expected row or ]'],
      ['[{"nif":"1"},]', 'line 1 is not JSON: expected row'],
      ['[{"nif":"1"}]\n[]', 'line 2 is not JSON: expected end of the file'],
      ['{"nif":"1"}\n{"nif":"2"}', 'has one JSON object after another (JSON Lines): name it .jsonl'],
    ])
      expect(await refusal(readJson(content!))).toBe(`rows.json: ${message}`);
  });

  test('of another encoding is refused with the line, whether it has the line to itself or not', async () => {
    const content = (space: string) =>
      Buffer.from(`[{"nif":"1","legal_name":"a"},${space}{"nif":"2","legal_name":"Caf\u00e9"}]`, 'latin1');
    expect(await refusal(readJson(content(' ')))).toContain('line 1 is not UTF-8: convert');
    expect(await refusal(readJson(content('\n')))).toContain('line 2 is not UTF-8: convert');
    expect(await refusal(readJson(Buffer.from('[{"nif":"1"}]', 'utf16le')))).toContain('is UTF-16');
  });
});

describe('the edge of what is in memory', () => {
  /** Text of so many bytes, whose characters begin at odd and even ones. */
  const wide = (bytes: number, character: string) =>
    'x'.repeat(bytes % 5) + character.repeat(Math.floor(bytes / Buffer.byteLength(character)));
  const text = fc
    .tuple(fc.nat(3 * WINDOW_BYTES), fc.constantFrom('\u00e9', '\u20ac', '\u{1f600}', 'a"\u00e9\\'))
    .map(([bytes, character]) => wide(bytes, character));

  test('changes nothing, whatever text of several bytes is passed over there', async () => {
    const document = fc.record({
      before: text,
      lists: fc.array(text, { maxLength: 3 }),
      long: text,
      after: text,
    });
    await fc.assert(
      fc.asyncProperty(document, fc.nat(2), async ({ before, lists, long, after }, indent) => {
        const row = { nif: '1', legal_name: 'Ábaco' };
        const list = [
          row,
          { nif: '2', legal_name: wide(MAX_ROW_BYTES, 'é') + long },
          { ...row, more: [before.slice(0, 9)] },
        ];
        const content = JSON.stringify(
          { before, lists: lists.map((name) => ({ name })), list, after },
          null,
          indent,
        );
        const { rows, rejected } = await readJson(content, 'list');
        expect(rows.map(({ values }) => values)).toEqual([
          ['1', 'Ábaco'],
          ['1', 'Ábaco'],
        ]);
        expect(rejected.map(({ reason }) => reason)).toEqual(['row over 64 KiB']);
      }),
      { numRuns: 40 },
    );
  });

  test('changes nothing, at every byte of a text, a name and a row', async () => {
    const tricky = 'a\u00e9\u20ac\u{1f600}"\\\n\u00e9';
    const places = [
      (pad: string) => ({ pad: pad + tricky, list: [] }),
      (pad: string) => ({ pad, [tricky]: [tricky], list: [] }),
      (pad: string) => ({ pad, list: [{ nif: '1', legal_name: tricky }] }),
      (pad: string) => ({ list: [{ nif: '1', legal_name: pad + tricky }] }),
    ];
    for (const place of places) {
      const whole = Buffer.from(JSON.stringify(place('')));
      for (let edge = 0; edge <= whole.length; edge++) {
        const document = { ...place('x'.repeat(WINDOW_BYTES - edge)), after: tricky } as {
          list: { nif: string }[];
        };
        const expected = document.list.filter((row) => JSON.stringify(row).length <= MAX_ROW_BYTES);
        const { rows, rejected } = await readJson(JSON.stringify(document), 'list');
        expect(rows.map(({ raw }) => JSON.parse(raw))).toEqual(expected);
        expect(rejected).toHaveLength(document.list.length - expected.length);
      }
    }
  });
});

describe('a list in a JSON object', () => {
  const read = (content: string, list: string | null = 'colective_debtors') =>
    readAll({ path: fileWith('debtors.json', content) }, DEBTS, { sources: DEBTOR_SOURCES, list });

  test('is found by its name wherever it stands, and what stands beside it is passed over', async () => {
    const expected = [
      ['500002576', '7500', '25000'],
      ['500004064', '5000000', null],
    ];
    expect(await valuesOf(read(debtors))).toEqual(expected);
    const many = JSON.stringify({
      'a "list"': [[{ colective_debtors: [1] }], '[{'],
      text: '}'.repeat(500_000),
      number: -1.5e3,
      ...JSON.parse(debtors),
      after: { more: [] },
    });
    expect(await valuesOf(read(many))).toEqual(expected);
    const stdin = { stdin: streamOf(debtors, [11]) };
    const options = { sources: DEBTOR_SOURCES, list: 'colective_debtors' };
    expect(await valuesOf(readAll(stdin, DEBTS, options))).toEqual(expected);
    expect((await read(debtors)).rows.map(({ line }) => line)).toEqual([13, 21]);
  });

  test('is found in an object in an object, by its names with dots', async () => {
    const portal = {
      help: 'x',
      result: { fields: [{ id: 'nif' }], records: JSON.parse(debtors).colective_debtors },
    };
    for (const indent of [0, 2]) {
      const content = JSON.stringify({ ...portal, success: true }, null, indent);
      expect(await valuesOf(read(content, 'result.records'))).toHaveLength(2);
      expect(await refusal(read(content, null))).toContain(
        'its lists are "result.fields", "result.records": choose',
      );
      expect(await refusal(read(content, 'result.rows'))).toBe(
        'debtors.json: has no member result.rows; found "help", "result", "result.fields", "result.records", "success"',
      );
      expect(await refusal(read(content, 'result'))).toBe('debtors.json: its member result is not a list');
    }
    const named = JSON.stringify({ result: { other: [] }, 'result.records': portal.result.records });
    expect(await valuesOf(read(named, 'result.records'))).toHaveLength(2);
  });

  test('is refused when it is not there, twice there, no list, or not chosen', async () => {
    expect(await refusal(read(debtors, 'debtors'))).toBe(
      'debtors.json: has no member debtors; found "singular_debtors", "colective_debtors", "last_updated"',
    );
    expect(await refusal(read(debtors, 'last_updated'))).toBe(
      'debtors.json: its member last_updated is not a list',
    );
    expect(await refusal(read('{"a":[],"a":[]}', 'a'))).toBe('debtors.json: has the member a twice');
    expect(await refusal(read('[{"nipc":1}]', 'a'))).toBe(
      'debtors.json: is a JSON list itself: leave --list out',
    );
    for (let length = 1; length < debtors.length; length += 7)
      expect(await refusal(read(debtors.slice(0, length)))).toContain('the JSON ends in the middle');
    const choose =
      'is a JSON object; its lists are "singular_debtors", "colective_debtors": choose one with --list';
    const oneLine = JSON.stringify(JSON.parse(debtors));
    for (const content of [debtors, oneLine]) {
      expect(await refusal(read(content, null))).toContain(choose);
      const onInput = readAll({ stdin: streamOf(content, [9]) }, DEBTS, { sources: DEBTOR_SOURCES });
      expect(await refusal(onInput)).toContain(choose);
    }
    expect(await refusal(read('{"a":1}', null))).toBe(
      'debtors.json: is a JSON object without a list; expected a list of objects',
    );
    const other = (name: string, content: string) =>
      refusal(readAll({ path: fileWith(name, content) }, DIRECTORY, { list: 'a' }));
    for (const [name, content] of [
      ['a.csv', 'nif,legal_name\n'],
      ['a.jsonl', '{"nif":1}\n'],
    ])
      expect(await other(name!, content!)).toBe(
        `${name}: is not a JSON document (.json), so it has no member a: leave --list out`,
      );
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
    expect(await at('a.json', `[${objects.replaceAll('\n', ',')}]`)).toEqual(expected);
    expect(await at('a.csv', 'FIRMA; A.b.c ;nif\nx;1;9\ny;2;9\nz;3;9\n')).toEqual(expected);
    const broken = '{"a":{"b":7},"Firma":"x"}\n{"a":null,"Firma":"x"}\n{"a":{"b":{"c":1}},"Firma":"x"}\n';
    expect(await at('b.jsonl', broken)).toEqual([
      [null, 'x'],
      [null, 'x'],
      ['1', 'x'],
    ]);
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
        ['a.json', JSON.stringify([{ nif: '1', [header]: 'x' }])],
      ] as const)
        expect(await valuesOf(readAll({ path: fileWith(name, content) }, DIRECTORY, { sources }))).toEqual([
          ['1', 'x'],
        ]);
    }
  });

  test('JSON Lines with lists in their rows are rows on standard input', async () => {
    const content = '{"nif":1,"legal_name":"a","cae":[{"x":1}]}\n{"nif":2,"legal_name":"b","cae":[]}\n';
    expect(await valuesOf(readAll({ stdin: streamOf(content, [9]) }))).toEqual([
      ['1', 'a'],
      ['2', 'b'],
    ]);
    const cut = '{"nif":"1","legal_name":"a"\n{"nif":"2","legal_name":"b"}\n';
    expect(await rejectsOf(readAll({ stdin: streamOf(cut, [9]) }))).toEqual([[1, 'not a JSON object']]);
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
