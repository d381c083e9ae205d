/** The published document against what generators of clients need. */
import { expect, test } from 'bun:test';
import { methodOf, templateOf } from '../../src/http/api-route.ts';
import { createOpenApi, type Schema } from '../../src/http/openapi.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';

const document = createOpenApi('https://api.example', API_ROUTES, new Map());
const { schemas } = document.components;

/** Every schema inside another one, with its place. */
function* inside(schema: Schema, place: string): Generator<[place: string, schema: Schema]> {
  const nested = [
    ...Object.entries(schema.properties ?? {}).map(([name, member]) => [`${place}.${name}`, member] as const),
    ...(schema.anyOf ?? []).map((option, index) => [`${place}|${index}`, option] as const),
    ...(schema.items === undefined ? [] : [[`${place}[]`, schema.items] as const]),
  ];
  for (const [name, member] of nested) {
    yield [name, member];
    yield* inside(member, name);
  }
}
const nested = Object.entries(schemas).flatMap(([name, schema]) => [...inside(schema, name)]);

test('every operation is in one of the groups, and the contact is the operator’s', () => {
  const tags = Object.values(document.paths).flatMap((path) => Object.values(path).map((one) => one.tags));
  expect(new Set(tags.flat())).toEqual(new Set(document.tags.map(({ name }) => name)));
  expect(tags.filter(({ length }) => length !== 1)).toEqual([]);
  const contactOf = (contact: string | null) =>
    createOpenApi('https://a.example', [], new Map(), contact).info;
  expect(contactOf(null)).not.toHaveProperty('contact');
  expect(contactOf('mailto:help@a.example?subject=API')).toMatchObject({
    contact: { email: 'help@a.example' },
  });
  expect(contactOf('https://a.example/help')).toMatchObject({ contact: { url: 'https://a.example/help' } });
});

test('every object inside an answer or a body is a component with a name', () => {
  expect(nested.length).toBeGreaterThan(50);
  expect(nested.filter(([, { properties }]) => properties !== undefined).map(([place]) => place)).toEqual([]);
  const named = nested.flatMap(([, { $ref }]) => ($ref === undefined ? [] : [$ref.split('/').pop()!]));
  expect(named.filter((name) => schemas[name] === undefined)).toEqual([]);
});

test('every answer is open: a client must accept members that it does not know; every body is closed', () => {
  const requests = API_ROUTES.flatMap(({ body }) => (body === undefined ? [] : [body.$id!]));
  for (const name of requests)
    expect([name, schemas[name]]).toMatchObject([name, { additionalProperties: false }]);
  const answers = Object.entries(schemas).filter(([name]) => !requests.includes(name));
  expect(JSON.stringify({ ...document, components: answers })).not.toContain('additionalProperties');
});

test('a text that is one of several is an enumeration, which every generator knows', () => {
  const unions = [...Object.entries(schemas), ...nested].filter(
    ([, { anyOf = [] }]) => anyOf.filter((option) => option.const !== undefined).length > 1,
  );
  expect(unions.map(([place]) => place)).toEqual([]);
  expect(nested.filter(([, schema]) => schema.enum !== undefined).length).toBeGreaterThan(3);
});

test('the status of an item tells what it is', () => {
  const items = Object.entries(schemas).filter(([name]) => name.endsWith('Failed'));
  expect(items).toHaveLength(3);
  for (const [name, failed] of items) {
    const found = schemas[name.replace('Failed', 'Found')]!;
    expect(found.properties!.status!.const).toBe(200);
    expect(failed.properties!.status!.enum).toContain(429);
    expect(failed.properties!.status!.enum).not.toContain(200);
  }
});

test('alternatives of fixed texts are enumerations, because generated Python raises at the second of an anyOf', () => {
  const enumerations = nested.flatMap(([place, { type, enum: values }]) =>
    type === 'string' && values !== undefined ? [`${place}: ${values.join(' ')}`] : [],
  );
  expect(enumerations).toContain('DebtChange.change: appeared changed ended');
  expect(enumerations).toContain('Usage.plan: free plus');
  const alternatives = nested.filter(([, { anyOf }]) => anyOf?.some((option) => option.const !== undefined));
  expect(alternatives.map(([place]) => place)).toEqual([]);
});

test('the 400 of an endpoint says what is not valid there, and nothing of other endpoints', () => {
  for (const route of API_ROUTES) {
    const operation = document.paths[templateOf(route.path)]![methodOf(route).toLowerCase()]!;
    const { description } = operation.responses[400] ?? {};
    if (!route.problems.includes('validation')) {
      expect([route.path, description]).toEqual([route.path, undefined]);
      continue;
    }
    const named = [...description!.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const own = Object.keys({ ...route.query?.properties, ...route.body?.properties });
    const texts = ['validation', 'PT', 'next', ...own];
    expect([route.path, named.filter((name) => !texts.includes(name!))]).toEqual([route.path, []]);
    expect([route.path, own.filter((name) => !named.includes(name))]).toEqual([route.path, []]);
    expect(description).not.toContain('undefined');
  }
});

test('headers that hold a number say so', () => {
  const { responses } = Object.values(document.paths).flatMap((methods) => Object.values(methods))[0]!;
  const typeOf = (status: string, header: string) =>
    (responses[status]!.headers as Record<string, { schema: Schema }>)[header]!.schema.type;
  for (const header of ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']) {
    expect(typeOf('200', header)).toBe('integer');
  }
  expect([typeOf('429', 'Retry-After'), typeOf('200', 'RateLimit-Policy')]).toEqual(['integer', 'string']);
});
