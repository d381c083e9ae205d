import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createSources } from '../../../src/companies/sources/create-sources.ts';
import type { SourcesConfig } from '../../../src/companies/sources/source-types.ts';
import { readConfig } from '../../../src/platform/config/config.ts';
import { nifPtFound, type Provider, startProvider } from '../../support/provider.ts';
import { MEBIBYTE, paddedJson } from '../../support/provider-faults.ts';
import { faultOf, NIF, sourceAt } from './support.ts';

describe('createSources', () => {
  const config: SourcesConfig = readConfig({});

  test.each<[string, Partial<SourcesConfig>, string[]]>([
    ['nif.pt is not asked without a key', {}, ['vies']],
    ['nor when the default is written without its slash', { nifPtUrl: 'https://www.nif.pt' }, ['vies']],
    ['it comes first when it has a key', { nifPtKey: 'k' }, ['nif.pt', 'vies']],
    ['or when the URL is another', { nifPtUrl: 'http://127.0.0.1:1/' }, ['nif.pt', 'vies']],
    ['eInforma can be the registry', { nifPtKey: 'k', registry: 'einforma' }, ['nif.pt', 'einforma']],
    ['the registry can be left out', { nifPtKey: 'k', registry: 'none' }, ['nif.pt']],
    ['there may be no source at all', { registry: 'none' }, []],
  ])('%s', async (_, overrides, names) => {
    const sources = createSources({ ...config, ...overrides });
    expect(sources.map(({ name }) => name) as string[]).toEqual(names);
    await Promise.all(sources.map((source) => source.close()));
  });
});

describe('an answer as it comes over the wire', () => {
  let provider: Provider;
  beforeAll(async () => {
    provider = await startProvider();
  });
  afterAll(() => provider.close());

  async function ask(body: string | Uint8Array, headers: Record<string, string> = {}) {
    provider.answer(NIF, { status: 200, headers, body });
    const source = sourceAt(provider, 'nif.pt');
    try {
      return await source.find(NIF);
    } finally {
      await source.close();
    }
  }
  const json = JSON.stringify(nifPtFound(NIF));

  test.each([
    ['plain', json, {}],
    ['under the name of another type', json, { 'content-type': 'text/html; charset=iso-8859-1' }],
    ['after a byte order mark', `\ufeff${json}`, {}],
  ])('is read: %s', async (_, body, headers) => {
    expect(await ask(body, headers)).toMatchObject({ kind: 'found', details: { city: 'Leça do Balio' } });
  });

  const members = json.slice(1, -1);
  test('is read at exactly 1 MiB, and a fault at one byte more; compression is not asked for', async () => {
    expect(await ask(paddedJson(MEBIBYTE, members))).toMatchObject({ kind: 'found' });
    expect((await faultOf(ask(paddedJson(MEBIBYTE + 1, members)))).reason).toBe('too-large');
    expect(provider.lookups().at(-1)!.headers['accept-encoding']).toBe('identity');
  });

  test('is a fault when it is nested without end', async () => {
    const nested = `{"records":${'['.repeat(500_000)}`;
    expect((await faultOf(ask(nested))).reason).toBe('unreadable');
  });

  test.each([
    ['null', 'null'],
    ['text', '"text"'],
    ['a number', '5'],
    ['an empty list', '[]'],
    ['a list', '[{}]'],
    ['two objects', `${json}${json}`],
    ['an object after a comment', `<!-- -->${json}`],
  ])('is a fault when it is no JSON object: %s', async (_, body) => {
    expect((await faultOf(ask(body))).reason).toBe('unreadable');
  });

  test('is a fault when its headers are too large', async () => {
    expect((await faultOf(ask(json, { 'x-large': 'x'.repeat(100_000) }))).reason).toBe('too-large');
  });
});
