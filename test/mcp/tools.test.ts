import { expect, test } from 'bun:test';
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
    const { route, most } = TOOLS.get(name)!;
    const price = route.charge === null ? /Costs no credit\.$/ : /Costs one credit( for each .+)?\.$/;
    expect(description).toMatch(price);
    const { params, query, body } = route;
    const input = Object.assign({}, ...[params, query, body].map((part) => part?.properties));
    const bounded = Object.fromEntries(
      Object.entries(most ?? {}).map(([list, maxItems]) => [list, { maxItems }]),
    );
    expect(inputSchema).toMatchObject(
      JSON.parse(JSON.stringify({ type: 'object', properties: input }, withoutBounds)),
    );
    expect(inputSchema).toMatchObject({ properties: bounded });
  },
);

/** A tool may take fewer items than its route, and then says so. */
function withoutBounds(key: string, value: unknown): unknown {
  return key === 'maxItems' || (key === 'description' && /^1 to /.test(String(value))) ? undefined : value;
}
