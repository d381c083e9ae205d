import { expect, test } from 'bun:test';
import { TextNifSchema } from '../../src/companies/nif-parameter.ts';
import { costOf } from '../../src/http/api-route.ts';
import { explain, PROBLEMS, type ProblemName } from '../../src/http/problems.ts';
import { DEFINITIONS, TOOLS } from '../../src/mcp/tools.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';

const tools = [...TOOLS.values()];

test('there are at most eight tools, each of another route of the API', () => {
  expect(tools.length).toBeLessThanOrEqual(8);
  expect(new Set(tools.map(({ route }) => route)).size).toBe(tools.length);
  for (const { route } of tools) expect(API_ROUTES).toContain(route);
});

test.each(DEFINITIONS)(
  '$name: under 60 words, with its price; its input is that of its route',
  (definition) => {
    const { name, description, inputSchema } = definition;
    expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/);
    expect(description.split(/\s+/).length).toBeLessThan(60);
    const { route } = TOOLS.get(name)!;
    const price = route.charge === null ? /Costs no credit\.$/ : /Costs one credit( for each .+)?\.$/;
    expect(description).toMatch(price);
    const { params, query, body } = route;
    const input = Object.assign({}, ...[params, query, body].map((part) => part?.properties));
    // A path takes no PT.
    if (name === 'get_company') input.nif = TextNifSchema;
    const published = JSON.parse(JSON.stringify({ type: 'object', properties: input }, withoutBounds));
    expect(inputSchema).toMatchObject(published);
  },
);

/** A tool may take fewer items than its route, and then says so. */
function withoutBounds(key: string, value: unknown): unknown {
  return key === 'maxItems' || (key === 'description' && /^A list of 1 to /.test(String(value)))
    ? undefined
    : value;
}

test.each(DEFINITIONS)('$name tells a host what it costs, and changes nothing', (definition) => {
  const { name, title, annotations, _meta } = definition;
  const cost = costOf(TOOLS.get(name)!.route);
  expect(title).toContain(`(${cost})`);
  expect(annotations).toEqual({
    title,
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: ['get_company', 'get_companies'].includes(name),
  });
  expect(_meta).toEqual({ cost });
});

test('the output of a tool is the answer of its route, or a problem; both are open', () => {
  for (const { name, outputSchema } of DEFINITIONS) {
    const { route, otherwise } = TOOLS.get(name)!;
    const answers = [route, otherwise].flatMap((one) => (one ? [{ required: one.success.required }] : []));
    expect(outputSchema).toMatchObject({
      type: 'object',
      anyOf: [...answers, { required: ['type', 'title', 'status', 'detail'] }],
    });
    expect(JSON.stringify(outputSchema)).not.toMatch(/"\$id"|"\$ref"|additionalProperties/);
  }
  // With their words they are some 8,500 tokens, which hosts give to a model.
  const shown = JSON.stringify(DEFINITIONS.map(({ outputSchema }) => outputSchema));
  const whole = JSON.stringify(
    [...TOOLS.values()].map(({ route, otherwise }) => [route.success, otherwise?.success]),
  );
  expect(shown.length).toBeLessThan(0.4 * whole.length);
});

test('a text of a model says where credits are bought, and never to wait for hours', () => {
  const buy = 'https://shop.example/?a=1';
  expect(
    explain({ kind: 'monthly-quota-exceeded', headers: { 'Retry-After': '616427' }, buy }, true, 'id'),
  ).toMatch(/Stop, and tell the user to buy credits at https:\/\/shop\.example\/\?a=1, /);
  const busy = (wait: string) =>
    explain({ kind: 'service-unavailable', headers: { 'Retry-After': wait } }, true, 'id');
  expect(busy('2')).toEndWith('Wait 2 s, then call again. No credit was charged.');
  expect(busy('7201')).toEndWith(
    'Stop, and tell the user that this works again within 3 h. No credit was charged.',
  );
});

test('the text of a fault of the service has the id of the request, and no other text does', () => {
  const faults = Object.entries(PROBLEMS).filter(([, { status }]) => status === 500);
  for (const [kind] of faults)
    expect(explain({ kind: kind as ProblemName }, true, 'req-1')).toEndWith('The `X-Request-Id` is req-1.');
  for (const kind of Object.keys(PROBLEMS).filter((kind) => faults.every(([fault]) => fault !== kind)))
    expect(explain({ kind: kind as ProblemName }, true, 'req-1')).not.toContain('req-1');
});
