/** Which inputs the reference and the tools call required, against what the service refuses without them. */
import { afterAll, expect, test } from 'bun:test';
import { methodOf, templateOf } from '../../src/http/api-route.ts';
import { createOpenApi } from '../../src/http/openapi.ts';
import { DEFINITIONS, TOOLS } from '../../src/mcp/tools.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { post } from '../companies/test-world/requests.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { createTestKey } from '../support/service.ts';

const api = await startApi();
afterAll(() => api.stop());
const { accountId } = await api.caller({ limits: { requestsPerMinute: 100_000 } });
const key = await createTestKey(api.sql, accountId);
const { paths, components } = createOpenApi('https://api.example', API_ROUTES, new Map());

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
  '$operationId: an input is required exactly if a request without it is refused',
  async (operation) => {
    const { route, parameters, inputs, required } = operation;
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

test('a header of a request is optional, and what is in the path required', () => {
  const outside = OPERATIONS.flatMap(({ parameters }) => parameters.filter((one) => one.in !== 'query'));
  expect(outside.map((one) => one.in)).toContain('header');
  for (const one of outside) expect(one.required).toBe(one.in === 'path');
});

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
