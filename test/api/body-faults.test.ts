/** Each way in which a body is wrong has its own detail, and an address that tools guess leads to the reference. */
import { afterAll, expect, test } from 'bun:test';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';

const api = await startApi();
afterAll(() => api.stop());
const { key } = await api.caller();

const JSON_TYPE = { 'Content-Type': 'application/json' };
const FAULTS: [name: string, detail: string, body: string, headers: Record<string, string>][] = [
  ['empty', 'The body is empty.', '', JSON_TYPE],
  ['cut', 'The body is not whole JSON', '{"nifs": ["5999', JSON_TYPE],
  ['a list', 'The body is not a JSON object.', '[]', JSON_TYPE],
  ['too large', 'The body is over 64 KiB.', ' '.repeat(70_000), JSON_TYPE],
  ['of another type', 'The header Content-Type is missing', '{}', { 'Content-Type': 'text/plain' }],
  [
    'too long a list',
    '"nifs" is not valid: 1001 came.',
    JSON.stringify({ nifs: Array(1001).fill('1') }),
    JSON_TYPE,
  ],
];

test.each(FAULTS)('a body that is %s is told so', async (_name, detail, body, headers) => {
  const answer = await ask(api, '/debts', { method: 'POST', key, body, headers });
  expect([answer.status, answer.kind]).toEqual([400, 'validation']);
  expect(answer.body.detail).toStartWith(detail);
});

test('/openapi.json leads to the reference', async () => {
  const answer = await fetch(new URL('/openapi.json', api.baseUrl), { redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, 'openapi/json']);
});
