import { expect, jest, test } from 'bun:test';
import { lookupRoute } from '../../src/companies/lookup/lookup-route.ts';
import { searchRoute } from '../../src/companies/search/search-route.ts';
import type { ApiRoute } from '../../src/http/api-route.ts';
import { readJson } from '../../src/http/body.ts';
import { createAddressReader } from '../../src/http/input.ts';
import { TOOLS } from '../../src/mcp/tools.ts';
import { usageRoute } from '../../src/metering/usage/usage-route.ts';

const read = (route: ApiRoute, path: string) =>
  createAddressReader(route)(`http://service:3000/api/v1${path}`);

test.each<[ApiRoute, path: string, input: Record<string, unknown>]>([
  [lookupRoute, '/companies/500%20002%2F576', { nif: '500 002/576' }],
  [lookupRoute, '/companies/500002576?q=x', { nif: '500002576' }],
  [lookupRoute, '/companies/%E0%A4%A', { nif: '%E0%A4%A' }],
  [lookupRoute, '/companies/%00', { nif: '\0' }],
  [searchRoute, '/companies?q=a%26b%3Dc+%23d', { q: 'a&b=c #d' }],
  [searchRoute, '/companies?x=1&q=first&q=second', { q: 'first' }],
  [searchRoute, '/companies?q=', { q: '' }],
  [searchRoute, '/companies?q=&q=a', { q: '' }],
  [searchRoute, '/companies?q[]=a&Q=a', {}],
  [searchRoute, '/companies?%71=a', { q: 'a' }],
  [searchRoute, '/companies?q', { q: '' }],
  [searchRoute, '/companies?q=+', { q: ' ' }],
  [searchRoute, '/companies?q=%E2%80%83', { q: '\u2003' }],
  // Malformed escapes are taken as they stand, and an overlong form of "a" is no "a".
  [searchRoute, '/companies?q=%zz', { q: '%zz' }],
  [searchRoute, '/companies?q=%ff%', { q: '\ufffd%' }],
  [searchRoute, '/companies?q=%E0%A4%A', { q: '\ufffd%A' }],
  [searchRoute, '/companies?q=%C1%A1', { q: '\ufffd\ufffd' }],
  [searchRoute, '/companies?__proto__=x', {}],
  [searchRoute, '/companies', {}],
  [usageRoute, '/usage?q=search-failed&nif=1', { q: 'search-failed' }],
])('an address is read as its route declares it: %#', (route, path, input) => {
  expect(read(route, path)).toEqual(input);
});

const parameters = [...TOOLS.values()].flatMap(({ name, route: { params, query, body }, read }) => {
  const [parameter] = Object.keys({ ...params?.properties, ...query?.properties });
  return body === undefined && parameter !== undefined ? [[name, parameter, read] as const] : [];
});

test.each(parameters)('%s takes a text or a number as %s, and refuses all else', (_tool, name, read) => {
  for (const [sent, text] of [
    ['a', 'a'],
    [500002576, '500002576'],
    ['\uD800b', '\ufffdb'],
  ])
    expect(read({ [name]: sent })).toEqual({ fault: null, input: { [name]: text } });
  for (const sent of [{}, null, [], true, undefined, { toString: 1, valueOf: 1 }])
    expect(read({ [name]: sent }).fault).toContain(`"${name}"`);
});

const NEVER = new AbortController().signal;
const HEADERS = { 'Content-Type': 'application/json' };

test('a body has ten seconds to arrive, however much of it came', async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const request = new Request('http://service/', { method: 'POST', headers: HEADERS, body: readable });
  const seen: unknown[] = [];
  const turn = setImmediate;
  jest.useFakeTimers();
  const reading = readJson(request, NEVER);
  for (const ms of [9_999, 2]) {
    void writer.write(new TextEncoder().encode('{"nifs":["500002576"]'));
    for (let turns = 0; turns < 5; turns += 1) await new Promise(turn);
    jest.advanceTimersByTime(ms);
    for (let turns = 0; turns < 5; turns += 1) await new Promise(turn);
    seen.push(await Promise.race([reading, 'waits']));
  }
  jest.useRealTimers();
  expect(seen).toEqual(['waits', { json: null, sent: 'too slow' }]);
});

test('a byte order mark does not matter', async () => {
  const body = '\ufeff{"a":1,"nifs":["500002576","x"],"b":[{}]}';
  const request = new Request('http://service/', { method: 'POST', headers: HEADERS, body });
  expect(await readJson(request, NEVER)).toMatchObject({ json: { a: 1, nifs: ['500002576', 'x'], b: [{}] } });
});
