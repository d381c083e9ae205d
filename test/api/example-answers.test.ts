/** The example answers of the reference are what a test key gets to the example requests. */
import { afterAll, expect, test } from 'bun:test';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { createTestKey } from '../support/service.ts';

interface Operation {
  operationId: string;
  parameters: { name: string; in: string; example: string }[];
  requestBody?: { content: { 'application/json': { example: unknown } } };
  responses: { 200: { content: { 'application/json': { example: unknown } } } };
}

const api = await startApi();
afterAll(() => api.stop());

const { paths } = (await (await fetch(`${api.baseUrl}/openapi/json`)).json()) as {
  paths: Record<string, Record<string, Operation>>;
};
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...operation,
    method: method.toUpperCase(),
    path,
  })),
);

/** Usage without what the clock decides: the days of the account's period, and when it ends. */
const timeless = (body: unknown) =>
  JSON.stringify(body, null, 2)
    .replaceAll(/"resetAt": "[^"]*"/g, '"resetAt": "an instant"')
    .replaceAll(/"(start|end)": "\d{4}-\d\d-\d\d"/g, '"$1": "a day"');

test('there is an example of each operation', () => {
  expect(operations).toHaveLength(API_ROUTES.length);
});

test.each(operations)(
  '$operationId',
  async ({ operationId, method, path, parameters, requestBody, responses }) => {
    let address = path;
    for (const { name, in: place, example } of parameters) {
      if (place === 'path') address = address.replace(`{${name}}`, example);
      if (place === 'query') address += `?${name}=${encodeURIComponent(example)}`;
    }
    const body = requestBody?.content['application/json'].example;
    const headers = { 'Content-Type': 'application/json' };
    const { accountId } = await api.caller();
    const answer = await ask(api, address, {
      key: await createTestKey(api.sql, accountId),
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBe(200);
    const { example } = responses[200].content['application/json'];
    // Each key has its own values.
    if (operationId === 'getKey')
      expect(Object.keys(answer.body.data)).toEqual(Object.keys((example as typeof answer.body).data));
    else expect(timeless(answer.body)).toBe(timeless(example));
  },
);
