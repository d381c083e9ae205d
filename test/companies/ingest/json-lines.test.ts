import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Everything, fileWith, readAll, rejectsOf, removeFilesAfterwards, valuesOf } from './reading.ts';

removeFilesAfterwards();

const DEBTS = ['nif', 'start', 'end'];

function readJsonLines(content: string, columns = DEBTS): Promise<Everything> {
  return readAll({ path: fileWith('rows.jsonl', content) }, columns);
}

describe('JSON Lines', () => {
  test('take text as it is, whole numbers by their digits, null and absent as null', async () => {
    const content = [
      '{"nif":"500 002 576","start":" 1 ","end":null}',
      '',
      '{"end":5000,"start":0,"nif":500002576,"note":[{"deep":1.5}]}\r',
      '  {"nif":5e8,"start":1.0}  ',
      '{"NIF":"1"," Start ":2,"nif ":3}',
      '{"nif":"a\\u0000\\ud800","start":9007199254740991,"__proto__":{"end":"7"}}',
      '{}',
    ].join('\n');
    expect((await readJsonLines(content)).rows.map((row) => [row.line, ...row.values])).toEqual([
      [1, '500 002 576', ' 1 ', null],
      [3, '500002576', '0', '5000'],
      [4, '500000000', '1', null],
      [5, '1', '2', null],
      [6, 'a\u0000\ud800', '9007199254740991', null],
      [7, null, null, null],
    ]);
  });

  test('reject a number that would lose digits or read as a NIF with separators, and what is no text', async () => {
    const content = [
      '{"nif":-509442013}',
      '{"nif":509442.013}',
      '{"nif":9007199254740993}',
      '{"nif":1e400}',
      '{"nif":"1","start":-5}',
      '{"nif":"1","end":0.5}',
      '{"nif":true}',
      '{"nif":{"a":1}}',
      '{"nif":["509442013"]}',
    ].join('\n');
    expect(await valuesOf(readJsonLines(content))).toEqual([]);
    expect(await rejectsOf(readJsonLines(content))).toEqual([
      [1, 'nif is not a whole number'],
      [2, 'nif is not a whole number'],
      [3, 'nif is not a whole number'],
      [4, 'nif is not a whole number'],
      [5, 'start is not a whole number'],
      [6, 'end is not a whole number'],
      [7, 'nif is neither text nor a number'],
      [8, 'nif is neither text nor a number'],
      [9, 'nif is neither text nor a number'],
    ]);
  });

  test('reject lines that are no object, and go on', async () => {
    const content = '{"nif":"1"}\nnull\n[]\n"x"\n7\n{"nif":\n{"nif":"2"}{"nif":"3"}\n{"nif":"4"}';
    expect((await readJsonLines(content, ['nif'])).rows.map((row) => [row.line, row.raw])).toEqual([
      [1, '{"nif":"1"}'],
      [8, '{"nif":"4"}'],
    ]);
    expect(await rejectsOf(readJsonLines(content, ['nif']))).toEqual(
      [2, 3, 4, 5, 6, 7].map((line) => [line, 'not a JSON object']),
    );
  });

  test('reject a line over 64 KiB, not one of 64 KiB', async () => {
    const lineOf = (length: number) => `{"nif":"${'1'.repeat(length - 10)}"}`;
    for (const length of [65_536, 65_537, 65_538, 65_539, 700_000]) {
      for (const lineBreak of ['\n', '\r\n']) {
        const content = `{"nif":"1"}${lineBreak}${lineOf(length)}${lineBreak}{"nif":"2"}`;
        const { rows, rejected } = await readJsonLines(content, ['nif']);
        expect(rows.map((row) => row.line)).toEqual(length > 65_536 ? [1, 3] : [1, 2, 3]);
        expect(rejected.map((row) => [row.line, row.reason])).toEqual(
          length > 65_536 ? [[2, 'row over 64 KiB']] : [],
        );
      }
    }
  });

  test('survive nesting as deep as a row may hold', async () => {
    const content = `{"nif":"0"}\n{"nif":"1","x":${'['.repeat(60_000)}\n{"nif":"2","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}\n{"nif":"3"}`;
    const { rows, rejected } = await readJsonLines(content, ['nif']);
    expect(rows.length + rejected.length).toBe(4);
    expect(rows.at(-1)!.values[0]).toBe('3');
  });

  test('read back whatever another program wrote', async () => {
    const row = fc.record({
      nif: fc.string({ unit: 'binary' }),
      start: fc.nat(),
      end: fc.option(fc.maxSafeNat()),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1 }), async (rows) => {
        const content = rows.map((one) => JSON.stringify(one)).join('\n');
        expect(await valuesOf(readJsonLines(content))).toEqual(
          rows.map(({ nif, start, end }) => [nif, String(start), end === null ? null : String(end)]),
        );
      }),
    );
  });
});
