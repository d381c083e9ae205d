import { describe, expect, test } from 'bun:test';
import { DIRECTORY, fileWith, readAll, removeFilesAfterwards, streamOf, valuesOf } from './reading.ts';

removeFilesAfterwards();

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

  test('JSON Lines with lists in their rows are rows on standard input', async () => {
    const content = '{"nif":1,"legal_name":"a","cae":[{"x":1}]}\n{"nif":2,"legal_name":"b","cae":[]}\n';
    expect(await valuesOf(readAll({ stdin: streamOf(content, [9]) }))).toEqual([
      ['1', 'a'],
      ['2', 'b'],
    ]);
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
