import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { WINDOW_BYTES } from '../../../src/companies/ingest/lines.ts';
import { readAll, streamOf } from './reading.ts';

const pieces = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 10 });

/** A plain reader: a field in quotes is unquoted. With other quotes a row of CSV loses its first line, and a field of TSV is text. */
function readPlainly(text: string, delimiter: string) {
  const quoted = new RegExp(`"((?:[^"]|"")*)" *(?=${delimiter}|\\r?\\n|\\r?$)`, 'y');
  const plain = new RegExp(`[^${delimiter}\\n]*`, 'y');
  const rows: { line: number; values: string[] }[] = [];
  const rejected: number[] = [];
  let at = 0;
  while (at < text.length) {
    const line = text.slice(0, at).split('\n').length;
    const from = at;
    const values: string[] = [];
    let isRejected = false;
    for (;;) {
      quoted.lastIndex = plain.lastIndex = at;
      const match = quoted.exec(text);
      if (match !== null) {
        values.push(match[1]!.replaceAll('""', '"'));
        at = quoted.lastIndex;
        if (text[at] === '\r') at++;
      } else {
        isRejected = text[at] === '"' && delimiter !== '\t';
        const [value] = plain.exec(text)!;
        at += value.length;
        values.push(text[at] === delimiter ? value : value.replace(/\r$/, ''));
      }
      if (isRejected || text[at] !== delimiter) break;
      at++;
    }
    const isBlank = values.length === 1 && /^[ \t]*\r?$/.test(text.slice(from, at));
    if (isRejected) {
      rejected.push(line);
      at = text.indexOf('\n', from);
      if (at === -1) break;
    } else if (/[^ \t]/.test(values.slice(3).join(''))) rejected.push(line);
    else if (!isBlank) rows.push({ line, values });
    at++;
  }
  return { rows, rejected };
}

describe.each([
  ['CSV', ','],
  ['CSV with semicolons', ';'],
  ['TSV', '\t'],
])('any %s, whatever quotes are in it', (_, delimiter) => {
  const often = fc.constantFrom('"', '"', delimiter, '\n', '\r\n', ' ', 'a');
  const seldom = fc.constantFrom(...';,\rá\u{1f600}\u0000');
  const unit = fc.oneof({ weight: 8, arbitrary: often }, { weight: 1, arbitrary: seldom });
  const anything = fc.string({ unit, maxLength: 60 });
  const header = ['nif', 'other', 'legal_name'].join(delimiter);

  test('reads as it is meant: a stray quote costs no more than its own line of CSV, and nothing of TSV', async () => {
    await fc.assert(
      fc.asyncProperty(anything, async (text) => {
        const content = `${header}\n${text}`;
        const { rows, rejected } = await readAll({ stdin: streamOf(content, [1 << 20]) });
        const expected = readPlainly(content, delimiter);
        expect(rows.map(({ line, values }) => [line, ...values])).toEqual(
          expected.rows.slice(1).map(({ line, values: [nif, , name] }) => [line, nif!, name ?? null]),
        );
        expect(rejected.map(({ line }) => line)).toEqual(expected.rejected);
      }),
      { numRuns: 3_000 },
    );
  });

  test('reads the same however it arrives in pieces, packed or not', async () => {
    await fc.assert(
      fc.asyncProperty(anything, pieces, async (text, sizes) => {
        const content = `${header}\n${text}`;
        const whole = await readAll({ stdin: streamOf(content, [1 << 20]) });
        expect(await readAll({ stdin: streamOf(content, sizes) })).toEqual(whole);
        expect(await readAll({ stdin: streamOf(gzipSync(content), sizes) })).toEqual(whole);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the edge of what is in memory', () => {
  // Filler puts that edge at each byte of these rows in turn.
  test.each([
    [
      'CSV',
      ',',
      '1,"a ""b""\r\nç"\r\n\r\n2,"open\n3,é\u{1f600}\r\n4,"x"y\n5,z\r\n',
      [
        [0, '1', 'a "b"\r\nç'],
        [4, '3', 'é\u{1f600}'],
        [6, '5', 'z'],
        [7, '6', 'end'],
      ],
      [
        [3, '2,"open'],
        [5, '4,"x"y'],
      ],
    ],
    [
      'TSV, whose quotes may be text',
      '\t',
      '1\t"a ""b""\r\nç"\r\n2\t"open\n3\t"x" y\n4\t""z\r\n5\t"\n',
      [
        [0, '1', 'a "b"\r\nç'],
        [2, '2', '"open'],
        [3, '3', '"x" y'],
        [4, '4', '""z'],
        [5, '5', '"'],
        [6, '6', 'end'],
      ],
      [],
    ],
  ])(
    'changes nothing, at every byte of a row of %s',
    async (_, delimiter, rowsOfTest, expected, refused) => {
      const header = `nif${delimiter}legal_name\n`;
      const tricky = Buffer.from(rowsOfTest);
      for (let edge = 0; edge <= tricky.length; edge++) {
        const length = WINDOW_BYTES - header.length - edge;
        const line = `0${delimiter}${'f'.repeat(997)}\n`;
        const filler = line.repeat(Math.floor(length / 1_000) - 1);
        const last = `0${delimiter}${'f'.repeat(length - filler.length - 3)}\n`;
        const end = Buffer.from(`6${delimiter}end\n`);
        const content = Buffer.concat([Buffer.from(header + filler + last), tricky, end]);
        const { rows, rejected } = await readAll({ stdin: streamOf(content, [100_000]) });
        const others = rows.filter((row) => row.values[0] !== '0');
        const firstLine = rows.length - others.length + 2;
        expect(others.map((row) => [row.line - firstLine, ...row.values])).toEqual(expected);
        expect(rejected.map((row) => [row.line - firstLine, row.raw])).toEqual(refused);
      }
    },
    60_000,
  );
});
