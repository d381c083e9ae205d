/** The schemas of parameters in the OpenAPI document against what the service takes: generated clients and fuzzers go by them. */
import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isValidNif, normalizeNif } from '../../src/companies/nif.ts';
import { startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';

interface Document {
  paths: Record<
    string,
    { get: { parameters: { name: string; example: string; schema: { type: string; pattern: string } }[] } }
  >;
}

const api = await startApi();
const caller = await api.caller({ limits: { requestsPerMinute: 1_000_000 }, included: 1_000_000 });
const document = (await (await fetch(`${api.baseUrl}/openapi/json`)).json()) as Document;
afterAll(() => api.stop());

/** Whether the document's schema takes a text for the one parameter of a path. */
function isTaken(path: string, text: string): boolean {
  const { schema } = document.paths[path]!.get.parameters[0]!;
  expect(schema.type).toBe('string');
  return new RegExp(schema.pattern, 'u').test(text);
}

test('a q is taken by the document exactly if the service takes it', async () => {
  const search = async (q: string) => {
    const { status } = await ask(api, `/companies?q=${encodeURIComponent(q)}`, { key: caller.key });
    return status !== 400;
  };
  const blanks = ['', ' ', '\t\n', '\u00a0\u2003\ufeff', '\u200b', ' a ', 'abaco', '0', '...'];
  for (const q of blanks) expect([q, isTaken('/companies', q)]).toEqual([q, await search(q)]);
});

test('a NIF is taken by the document exactly if it has the form that the service takes', async () => {
  const path = '/companies/{nif}';
  const unit = fc.constantFrom(...'0123456789 .-\t\u00a0\u202fa\n５');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 14 }), (text) => {
      expect([text, isTaken(path, text)]).toEqual([text, normalizeNif(text) !== null]);
    }),
    { numRuns: 2000 },
  );
  for (const text of [
    '500002576',
    '500 002-576',
    ' 5.0.0.0.0.2.5.7.6 ',
    '0',
    '50000257',
    '5000025760',
    'PT500002576',
  ]) {
    const { status } = await ask(api, `/companies/${encodeURIComponent(text)}`, { key: caller.key });
    expect([text, status !== 400]).toEqual([text, isTaken(path, text)]);
    if (isTaken(path, text)) expect(isValidNif(normalizeNif(text)!)).toBeTrue();
  }
});
