import { expect, test } from 'bun:test';
import { parseUntrusted } from '../../../src/platform/runtime/json.ts';

const parse = (text: string) => parseUntrusted(Buffer.from(text));
const arrays = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test.each([
  ['arrays', arrays],
  ['objects', objects],
])('64 levels of %s are parsed, and the 65th is refused, wherever it stands', (_, levels) => {
  expect(parse(levels(64))).toEqual(JSON.parse(levels(64)));
  expect(parse(levels(65))).toBeNull();
  expect(parse(`{"first":[[1],{}],"a":${levels(64)}}`)).toBeNull();
  expect(parse(`[${Array(100).fill(levels(63)).join(',')}]`)).toHaveLength(100);
});

test('brackets in a text are no levels, whatever is escaped around them', () => {
  for (const text of [
    '['.repeat(1000),
    `"${'{'.repeat(100)}`,
    `\\${'['.repeat(100)}\\`,
    `\\"${'['.repeat(100)}`,
  ]) {
    expect(parse(JSON.stringify({ text, [text]: [text] }))).toEqual({ text, [text]: [text] });
    // A level after the text counts.
    expect(parse(`[${JSON.stringify(text)},${arrays(64)}]`)).toBeNull();
  }
});

test('what is not JSON or not UTF-8 is refused', () => {
  for (const text of ['', '{', '[1', ']', '"', '\\', '["\\', '{"a":1}}', ']'.repeat(100)]) {
    expect(parse(text)).toBeNull();
  }
  expect(parseUntrusted(Buffer.from('"\xff"', 'latin1'))).toBeNull();
});
