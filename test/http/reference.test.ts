/** The published document against what generators of clients need. */
import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { normalizeNif } from '../../src/companies/nif.ts';
import { methodOf, templateOf } from '../../src/http/api-route.ts';
import { createOpenApi, type Schema } from '../../src/http/openapi.ts';
import { PROBLEMS, type ProblemName } from '../../src/http/problems.ts';
import { DEFINITIONS, TOOLS } from '../../src/mcp/tools.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { post } from '../companies/test-world/requests.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { createTestKey } from '../support/service.ts';

const document = createOpenApi('https://api.example', new Map(API_ROUTES.map((route) => [route, undefined])));
interface Operation {
  parameters: { schema: { type: string; pattern: string } }[];
}
const { paths, components } = document;
const { schemas } = components;
const api = await startApi();
afterAll(() => api.stop());
/** As a service answers it. */
const { paths: published } = (await (await fetch(`${api.baseUrl}/openapi/json`)).json()) as {
  paths: Record<string, Record<string, Operation>>;
};

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
  const contactOf = (contact: string | null) => createOpenApi('https://a.example', new Map(), contact).info;
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

const { accountId } = await api.caller({ limits: { requestsPerMinute: 100_000 } });
const key = await createTestKey(api.sql, accountId);

/** The inputs of each route in the reference: its query and its body, as [name, example]. The path has no input that may be absent. */
const OPERATIONS = API_ROUTES.map((route) => {
  const { operationId, parameters, requestBody } =
    paths[templateOf(route.path)]![methodOf(route).toLowerCase()]!;
  const query = parameters.filter((one) => one.in === 'query');
  const schema =
    components.schemas[requestBody?.content['application/json'].schema.$ref?.split('/').pop() ?? ''];
  const required = [...query.flatMap((one) => (one.required ? [one.name] : [])), ...(schema?.required ?? [])];
  const inputs: [name: string, example: unknown][] = [
    ...query.map((one) => [one.name, one.example] as [string, string]),
    ...Object.keys(schema?.properties ?? {}).map((name): [string, unknown] => [
      name,
      route.body!.examples[0][name],
    ]),
  ];
  return { operationId, route, parameters, inputs, required };
});

test.each(OPERATIONS)(
  '$operationId: an input is required exactly if a request without it is refused, and a header never',
  async (operation) => {
    const { route, parameters, inputs, required } = operation;
    const others = parameters.filter((one) => one.in !== 'query');
    expect(others.map((one) => [one.in, one.name, one.required])).toEqual([
      ...(route.params === undefined ? [] : [['path', 'nif', true]]),
      ...(route.body === undefined ? [] : [['header', 'Idempotency-Key', false]]),
    ]);
    const path = route.path.replace(':nif', parameters.find((one) => one.in === 'path')?.example ?? '');
    const send = (given: [string, unknown][]) =>
      route.body === undefined
        ? ask(api, `${path}?${new URLSearchParams(given as [string, string][])}`, { key })
        : ask(api, path, { ...post(Object.fromEntries(given)), key });
    const needed = inputs.filter(([name]) => required.includes(name));
    expect([path, (await send(needed)).status]).toEqual([path, 200]);
    for (const [name] of inputs) {
      const { status } = await send(needed.filter(([other]) => other !== name));
      expect([name, status]).toEqual([name, required.includes(name) ? 400 : 200]);
    }
  },
);

test.each(DEFINITIONS)(
  '$name: an input is required exactly if the endpoint needs it',
  ({ name, inputSchema }) => {
    const { route, read } = TOOLS.get(name)!;
    const { parameters, inputs, required } = OPERATIONS.find((one) => one.route === route)!;
    const path = parameters.flatMap((one): [string, unknown][] =>
      one.in === 'path' ? [[one.name, one.example]] : [],
    );
    const needed = [...path.map(([member]) => member), ...required];
    expect(inputSchema.required ?? []).toEqual(needed);
    const given = [...path, ...inputs].filter(([member]) => needed.includes(member));
    expect(read(Object.fromEntries(given)).fault).toBeNull();
    for (const member of needed) {
      const { fault } = read(Object.fromEntries(given.filter(([other]) => other !== member)));
      expect(fault).toStartWith(`"${member}" is missing.`);
    }
  },
);

/** Whether the document's schema takes a text for the one parameter of a path. */
function isTaken(path: string, text: string): boolean {
  const { schema } = published[path]!.get!.parameters[0]!;
  expect(schema.type).toBe('string');
  return new RegExp(schema.pattern, 'u').test(text);
}

test('a q is taken by the document exactly if the service takes it', async () => {
  const search = async (q: string) => {
    const { status } = await ask(api, `/companies?q=${encodeURIComponent(q)}`, { key });
    return status !== 400;
  };
  const blanks = ['', ' ', '\t\n', '\u00a0\u2003\ufeff', '\u200b', ' a ', 'abaco', '0', '...'];
  for (const q of blanks) expect([q, isTaken('/companies', q)]).toEqual([q, await search(q)]);
});

test('a NIF is taken by the document exactly if it has the form that the service takes', () => {
  const unit = fc.constantFrom(...'0123456789 .-\t\u00a0\u202fa\n５');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 14 }), (text) => {
      expect([text, isTaken('/companies/{nif}', text)]).toEqual([text, normalizeNif(text) !== null]);
    }),
    { numRuns: 2000 },
  );
});

const contract = await Bun.file(new URL('../../docs/api.md', import.meta.url)).text();
const rows = [...contract.matchAll(/^\| \d{3} +\| `([a-z-]+)`.*\| ([a-z ]+?) +\|$/gm)].map(
  ([, kind = '', cost = '']) => [kind as ProblemName, cost] as const,
);

const SAID: Record<string, [english: RegExp, portuguese: RegExp]> = {
  yes: [/The request has cost its credit\.$/, /O pedido custou o seu crédito\.$/],
  'unless its endpoint is free': [
    /The request has cost its credit, unless its endpoint is free\.$/,
    /O pedido custou o seu crédito, salvo numa operação gratuita\.$/,
  ],
  no: [/(Nothing|No credit) was charged\.$/, /(Nada|Nenhum crédito) foi cobrado\.$/],
  'if it came after the admission': [/admitted has cost its credit\.$/, /admitido custou o seu crédito\.$/],
};

test('docs/api.md has a row for each kind', () => {
  expect(rows.map(([kind]) => kind).toSorted()).toEqual(Object.keys(PROBLEMS).toSorted() as ProblemName[]);
});

test.each(rows)('%s: the page of the problem says its cost too, in both languages: %s', (kind, cost) => {
  const [english, portuguese] = SAID[cost]!;
  expect(PROBLEMS[kind].fix).toMatch(english);
  expect(PROBLEMS[kind].pt.fix).toMatch(portuguese);
});
