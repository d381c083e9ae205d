/** The example answers of the reference are the service's own, on the data of the demo. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { importDebts } from '../../src/companies/debts/import.ts';
import { importExampleDebts } from '../../src/demo/example-debts.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { importBrackets } from '../companies/debts/support.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { ROOT } from '../support/command.ts';
import { NO_PROGRESS } from '../support/progress.ts';
import { nifPtFound } from '../support/provider.ts';

interface Operation {
  operationId: string;
  parameters: { name: string; in: string; example: string }[];
  requestBody?: { content: { 'application/json': { example: unknown } } };
  responses: { 200: { content: { 'application/json': { example: unknown } } } };
}

const api = await startApi({ directory: await Bun.file(join(ROOT, 'examples/companies.csv')).text() });
afterAll(() => api.stop());
api.provider.answer('500002576', nifPtFound('500002576'));
// One company has another bracket in the example list, so that there is a change.
await importBrackets(api.database, { 599900016: [10_000, 25_000] }, { date: '2026-09-30' });
const tools = {
  sql: api.sql,
  databaseUrl: api.database.url,
  signal: new AbortController().signal,
  actor: 'test',
};
const list = { path: join(ROOT, 'examples/tax-debtors.csv') };
await importDebts(tools, list, { kind: 'tax', date: '2026-10-31', force: 1 }, NO_PROGRESS);
await importExampleDebts(tools, NO_PROGRESS);

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

/** A text without what the clock decides: instants, cursors, and the days of the account's period. */
const timeless = (body: unknown) =>
  JSON.stringify(body, null, 2)
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'an instant')
    .replaceAll(/chg_\d+/g, 'a cursor')
    .replaceAll(/"(start|end)": "\d{4}-\d\d-\d\d"/g, '"$1": "a day"');

test('there is an example of each operation', () => {
  expect(operations).toHaveLength(API_ROUTES.length);
});

test.each(operations)('$operationId', async ({ method, path, parameters, requestBody, responses }) => {
  let address = path;
  for (const { name, in: place, example } of parameters) {
    if (place === 'path') address = address.replace(`{${name}}`, example);
    if (place === 'query') address += `?${name}=${encodeURIComponent(example)}`;
  }
  const body = requestBody?.content['application/json'].example;
  const headers = { 'Content-Type': 'application/json' };
  const { key } = await api.caller();
  const answer = await ask(api, address, {
    key,
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBe(200);
  expect(timeless(answer.body)).toBe(timeless(responses[200].content['application/json'].example));
});
