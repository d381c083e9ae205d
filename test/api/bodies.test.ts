/** Bodies are what the schema of the reference says, and nothing else: derived from the list of routes. */
import { afterAll, expect, test } from 'bun:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type { ApiRoute } from '../../src/http/api-route.ts';
import { createBodyCheck } from '../../src/http/body-check.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { nif } from '../support/companies.ts';
import { stopClock } from '../support/stopped-clock.ts';

const api = await startApi();
// No token flows back into a bucket.
const clock = stopClock();
afterAll(() => api.stop().finally(clock.restore));

const routes = API_ROUTES.filter(({ body }) => body !== undefined);

/** Values that a schema does not take, each at an edge of it. */
function outside(schema: TSchema): unknown[] {
  const candidates: unknown[] = [null, true, 1.5, 99_999_999, 1_000_000_000, -500_002_576, {}, [], '', 'x'];
  if (schema.type === 'array') {
    const items = Array.from({ length: schema.maxItems + 1 }, () => inside(schema.items));
    candidates.push(items, ...outside(schema.items).map((item) => [inside(schema.items), item]));
  }
  return candidates.filter((value) => !Value.Check(schema, value));
}

function inside(schema: TSchema): unknown {
  if (schema.anyOf !== undefined) return inside(schema.anyOf[0]);
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'boolean') return true;
  if (schema.type === 'array') return [inside(schema.items)];
  return schema.pattern === undefined ? nif(1) : 'chg_0';
}

/** Bodies with one member that is wrong, or missing. */
function badBodies({ body }: ApiRoute): [member: string, body: Record<string, unknown>][] {
  const { properties, required = [], examples } = body!;
  return Object.entries(properties).flatMap(([name, schema]) => {
    const bad = outside(schema).map((value): [string, Record<string, unknown>] => [
      name,
      { ...examples[0], [name]: value },
    ]);
    if (required.includes(name)) bad.push([name, { ...examples[0], [name]: undefined }]);
    return bad;
  });
}

const cases = routes.flatMap((route) =>
  badBodies(route).map(([member, body]) => [route.path, member, JSON.stringify(body)] as const),
);

test('there are bad bodies of every endpoint, and of every member', () => {
  const members = routes.flatMap(({ path, body }) =>
    Object.keys(body!.properties).map((name) => `${path} ${name}`),
  );
  expect([...new Set(cases.map(([path, name]) => `${path} ${name}`))]).toEqual(members);
});

test('each is a validation that names its member with an example that is taken, and costs a token and a credit', async () => {
  const caller = await api.caller(PLENTY);
  for (const [path, member, body] of cases) {
    const answer = await ask(api, path, { key: caller.key, json: JSON.parse(body) });
    expect([path, body.slice(0, 100), answer.kind]).toEqual([path, body.slice(0, 100), 'validation']);
    expect(answer.body.detail).toContain(`"${member}"`);
    const example = JSON.parse(/For example: (.+)$/.exec(answer.body.detail)![1]!);
    const { properties } = routes.find((route) => route.path === path)!.body!;
    expect([path, member, Value.Check(properties[member]!, example)]).toEqual([path, member, true]);
    const { length } = JSON.parse(body)[member] ?? '';
    if (length > properties[member]!.maxItems) expect(answer.body.detail).toContain(`: ${length} came`);
  }
  expect((await api.ledger(caller)).used).toBe(cases.length);
});

test.each(routes)('what the schema of POST $path takes is taken', async ({ path, body }) => {
  const { key } = await api.caller(PLENTY);
  for (const [name, member] of Object.entries(body!.properties)) {
    const json = { ...body!.examples[0], [name]: inside(member) };
    expect([path, name, (await ask(api, path, { key, json })).status]).toEqual([path, name, 200]);
  }
});

test.each(routes.map(({ path, body }) => [path, body!] as const))(
  'a member that the schema of POST %s does not name is a validation that names those that it does, and costs a credit',
  async (path, { examples, properties }) => {
    const caller = await api.caller(PLENTY);
    const [first] = Object.keys(properties);
    const unknown = ['nif', 'NIFS', 'kind', '', '__proto__', 'constructor', 'a/b', `${first}/0`];
    for (const name of unknown) {
      const answer = await ask(api, path, {
        key: caller.key,
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(examples[0]).replace(/}$/, `,${JSON.stringify(name)}:["1"]}`),
      });
      const known = Object.keys(properties).map((member) => `"${member}"`);
      expect([name, answer.kind, answer.body.detail]).toEqual([
        name,
        'validation',
        `A member is not known. The members are: ${known.join(', ')}.`,
      ]);
    }
    expect((await api.ledger(caller)).used).toBe(unknown.length);
  },
);

test('the check says what the schema says, whatever is sent', () => {
  for (const { body } of routes) {
    const check = createBodyCheck(body!);
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...Object.keys(body!.properties)), (value, name) => {
        for (const sent of [
          value,
          { ...body!.examples[0], [name]: value },
          { ...body!.examples[0], more: value },
        ])
          expect(check(sent) === null).toBe(Value.Check(body!, sent));
      }),
    );
  }
  expect(createBodyCheck(Type.Object({}))(null)).toContain('not a JSON object');
});

test.each(['/lookups', '/debts'])(
  'POST %s takes a number of nine digits as a NIF, and answers it as text',
  async (path) => {
    const { key } = await api.caller(PLENTY);
    const { body } = await ask(api, path, { key, json: { nifs: [Number(nif(1)), nif(1), 500_002_577] } });
    const [number, text, wrong] = body.data;
    expect(number).toEqual(text);
    expect([number.nif, wrong.nif, wrong.status]).toEqual([nif(1), '500002577', 400]);
  },
);

/** Bodies that are no JSON object, and what their problem says. */
const FAULTS: [detail: string, body: string | Buffer, type?: string][] = [
  ['The body is empty.', ''],
  ['The body is not whole JSON', '{"nifs": ["5999'],
  ['The body is not whole JSON', 'null'],
  ['The body is not whole JSON', '['.repeat(60_000)],
  ['The body is not whole JSON', Buffer.from('{"nifs":["500002576"],"more":"\xff"}', 'latin1')],
  ['The body is not a JSON object.', '[]'],
  ['The body is over 64 KiB.', ' '.repeat(70_000)],
  ['The body is over 64 KiB.', ' '.repeat(200_000)],
  ['The header Content-Type is missing', '{}', 'text/plain'],
  ['The header Content-Type is missing', '{}', 'application/jsonl'],
  ['The header Content-Type is missing', '{}', ''],
];

test.each(routes.map(({ path }) => path))(
  'a body of POST %s that is no JSON object is a validation that says so, and costs a token and a credit',
  async (path) => {
    const caller = await api.caller({ ...PLENTY, limits: { requestsPerMinute: FAULTS.length } });
    for (const [detail, body, type = 'application/json'] of FAULTS) {
      const headers = { 'Content-Type': type };
      const sent = { key: caller.key, method: 'POST', headers, body: body as string };
      const answer = await ask(api, path, sent);
      expect([answer.kind, answer.body.detail]).toEqual(['validation', expect.stringContaining(detail)]);
    }
    expect((await ask(api, '/usage', { key: caller.key })).kind).toBe('rate-limit-exceeded');
    expect((await api.ledger(caller)).used).toBe(FAULTS.length);
  },
);
