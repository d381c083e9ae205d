/** The example that OpenRefine asks: the Reconciliation API 0.2 in front of the API. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { importBrackets } from '../companies/debts/debts-support.ts';
import { ask } from '../support/ask.ts';
import { PLENTY } from '../support/service.ts';
import { startExamples } from './programs.ts';

const { api, start } = await startExamples();
const { accountId, key } = await api.caller(PLENTY);
const program = start(api.baseUrl, 'TypeScript', key, { program: 'openrefine', words: ['0'] });
let address: string;
beforeAll(async () => {
  const { value } = await program.stdout.getReader().read();
  address = new TextDecoder().decode(value).trim();
});
afterAll(async () => {
  program.kill();
  await program.exited;
  await api.stop();
});

/** The schemas of the specification (their licence is beside them). */
const schemas = new Ajv({ strict: false });
(addFormats as unknown as (ajv: Ajv) => void)(schemas);
// Of a way to sign in, which this adapter has not.
schemas.addSchema(
  { definitions: { securityDefinitions: { additionalProperties: {} } } },
  'http://swagger.io/v2/schema.json',
);
const FOLDER = join(import.meta.dir, 'reconciliation-0.2');
for (const file of new Bun.Glob('*.json').scanSync(FOLDER)) {
  const { $schema, ...schema } = await Bun.file(join(FOLDER, file)).json();
  schemas.addSchema(schema, file);
}

/** Fails with what the specification wants of an answer. */
function expectOfSpecification(name: string, answer: unknown): void {
  schemas.validate(`${name}.json`, answer);
  expect(schemas.errors ?? []).toEqual([]);
}

/** An answer, of whatever form: the tests say which it has. */
const bodyOf = async (response: Response) => JSON.parse(await response.text());

const send = (parameters: Record<string, unknown>, headers = {}) => {
  const form = Object.entries(parameters).map(([name, value]): [string, string] => [
    name,
    JSON.stringify(value),
  ]);
  return fetch(address, { method: 'POST', body: new URLSearchParams(form), headers });
};

test('the manifest is of version 0.2, and leads to the properties that can be added', async () => {
  const response = await fetch(address, { headers: { Origin: 'http://127.0.0.1:3333' } });
  expect(response.headers.get('Access-Control-Allow-Origin')).toBe('http://127.0.0.1:3333');
  const manifest = await bodyOf(response);
  expectOfSpecification('manifest', manifest);
  expect(manifest).toMatchObject({ versions: ['0.2'], defaultTypes: [{ id: 'company', name: 'Company' }] });
  const { service_url, service_path } = manifest.extend.propose_properties;
  const proposal = await bodyOf(await fetch(service_url + service_path));
  expectOfSpecification('data-extension-property-proposal', proposal);
  const { properties } = proposal;
  expect(properties).toContainEqual({ id: 'tax_start', name: 'tax debt: from, €' });
  expect(properties).toHaveLength(6);
});

interface Item {
  name: string;
  candidates?: { nif: string }[];
}

const CANDIDATE = {
  id: expect.stringMatching(/^\d{9}$/),
  name: expect.any(String),
  score: expect.any(Number),
  match: expect.any(Boolean),
  type: [{ id: 'company', name: 'Company' }],
};

test('1,000 queries: the form of the specification, the candidates of the API, and its cost', async () => {
  const known = fc.constantFrom('Abaco e Filhos', 'Abacate Lda', 'Caracol Doce', '500002576', 'Abacatte', '');
  const query = fc.record({ query: fc.oneof(known, fc.string({ unit: 'binary', maxLength: 60 })) });
  for (const [batch, queries] of fc
    .sample(fc.array(query, { minLength: 10, maxLength: 10 }), { numRuns: 100, seed: 2 })
    .entries()) {
    const before = (await api.ledger({ accountId })).used;
    const response = await send({ queries: Object.fromEntries(queries.map((one, at) => [`q${at}`, one])) });
    expect(response.status).toBe(200);
    const results = await bodyOf(response);
    expectOfSpecification('reconciliation-result-batch', results);
    const answer: [string, { result: { id: string; score: number }[] }][] = Object.entries(results);
    expect(answer.map(([id]) => id)).toEqual(queries.map((_, at) => `q${at}`));
    for (const [, { result }] of answer) {
      for (const candidate of result) expect(candidate).toEqual(CANDIDATE);
      expect(result.map(({ score }) => score)).toEqual([5, 4, 3, 2, 1].slice(0, result.length));
    }
    // Each tenth batch is compared with the API, for the time that it takes.
    if (batch % 10 !== 0) continue;
    const cost = (await api.ledger({ accountId })).used - before;
    const names = queries.map(({ query }) => query.trim());
    const named = names.filter((name) => /[\p{L}\p{N}]/u.test(name));
    const { body, headers } = await ask(api, '/resolutions', { key, json: { names: named } });
    expect(cost).toBe(Number(headers.get('X-Credits')));
    const nifs = new Map<string, string[]>(
      body.data.map(({ name, candidates = [] }: Item) => [name, candidates.map(({ nif }) => nif)]),
    );
    const found = answer.map(([, { result }]) => result.map(({ id }) => id));
    expect(found).toEqual(names.map((name) => nifs.get(name) ?? []));
  }
}, 120_000);

test('debts are added as numbers and dates; a company that is on no list gets no value', async () => {
  await importBrackets(api.database, { 500002576: [5000, 25_000] });
  const properties = ['tax_start', 'tax_end', 'tax_last_updated', 'social_security_start'];
  const response = await send({
    extend: { ids: ['500002576', '500002568'], properties: properties.map((id) => ({ id })) },
  });
  const added = await bodyOf(response);
  expectOfSpecification('data-extension-response', added);
  expect(added.rows).toEqual({
    500002576: {
      ...{ tax_start: [{ int: 5000 }], tax_end: [{ int: 25_000 }] },
      ...{ tax_last_updated: [{ str: '2026-10-31' }], social_security_start: [] },
    },
    500002568: { tax_start: [], tax_end: [], tax_last_updated: [], social_security_start: [] },
  });
});

test('a page of another site and another name of this machine are refused, and a broken form is', async () => {
  expect((await send({ queries: {} }, { Origin: 'https://example.com' })).status).toBe(403);
  expect((await send({ queries: {} }, { Host: 'rebound.example' })).status).toBe(403);
  expect((await send({ queries: 5 })).status).toBe(400);
  expect((await send({ extend: {} })).status).toBe(400);
});
