import { expect, test } from 'bun:test';
import { isTooWide, MAX_VALUES } from '../../src/mcp/width.ts';

const values = (count: number) => Array.from({ length: count }, (_, index) => index);
/** A call of a tool. With `rest` it has five members and items besides: four members, and the list itself. */
const callWith = (input: unknown, rest: unknown) => ({
  jsonrpc: '2.0',
  method: 'tools/call',
  params: { name: 'x', arguments: input },
  rest,
});

test('a message has at most 200 members and items at all depths', () => {
  expect(MAX_VALUES).toBe(200);
  expect(isTooWide({ list: values(199) })).toBe(false);
  expect(isTooWide({ list: values(200) })).toBe(true);
  expect(isTooWide({ outer: [{ list: values(197) }] })).toBe(false);
  expect(isTooWide({ outer: [{ list: values(198) }] })).toBe(true);
});

test('the lists of a tool input do not count, and everything else of it does', () => {
  expect(isTooWide(callWith({ nifs: values(1000) }, values(193)))).toBe(false);
  expect(isTooWide(callWith({ nifs: values(1000) }, values(194)))).toBe(true);
  expect(isTooWide(callWith({ inner: { nifs: values(1000) } }, []))).toBe(true);
});

test('a value that is no object has nothing to count', () => {
  for (const value of [null, undefined, 'text', 17]) expect(isTooWide(value)).toBe(false);
});
