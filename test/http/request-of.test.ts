import { expect, test } from 'bun:test';
import { lookupsRoute } from '../../src/companies/lookup/batch.ts';
import { lookupRoute } from '../../src/companies/lookup/route.ts';
import { searchRoute } from '../../src/companies/search/route.ts';
import { requestOf } from '../../src/http/request-of.ts';

const never = new AbortController().signal;
const address = (...[route, input]: [Parameters<typeof requestOf>[0], Record<string, unknown>]) =>
  requestOf(route, input, {}, never).url.replace('http://service/api/v1', '');

test('an input stands in the path, the query or the body, as the route declares it', async () => {
  expect(address(lookupRoute, { nif: '500 002/576', q: 'x' })).toBe('/companies/500%20002%2F576');
  expect(address(lookupRoute, { nif: 500002576 })).toBe('/companies/500002576');
  expect(address(searchRoute, { q: 'a&b=c #d', nif: 'x' })).toBe('/companies?q=a%26b%3Dc+%23d');
  expect(address(searchRoute, {})).toBe('/companies');
  const posted = requestOf(lookupsRoute, { nifs: ['500002576'] }, { Authorization: 'Bearer x' }, never);
  expect([posted.method, posted.url]).toEqual(['POST', 'http://service/api/v1/lookups']);
  expect(Object.fromEntries(posted.headers)).toMatchObject({
    authorization: 'Bearer x',
    'content-type': 'application/json',
  });
  expect(await posted.json()).toEqual({ nifs: ['500002576'] });
});

test.each([[{}], [null], [[]], [true], ['\uD800'], [undefined]])(
  '%p in the place of a text gives an address that is not valid, and never throws',
  (value) => {
    expect(address(lookupRoute, { nif: value })).toMatch(/^\/companies\/(%EF%BF%BD)?$/);
    expect(address(searchRoute, { q: value })).toMatch(/^\/companies(\?q=(%EF%BF%BD)?)?$/);
  },
);

test('the request is aborted when the client disconnects', () => {
  const client = new AbortController();
  const { signal } = requestOf(lookupRoute, { nif: '1' }, {}, client.signal);
  expect(signal.aborted).toBe(false);
  client.abort();
  expect(signal.aborted).toBe(true);
});
