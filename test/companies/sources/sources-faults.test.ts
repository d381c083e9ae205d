import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import type {
  CompanySource,
  SourceErrorReason,
  SourceName,
} from '../../../src/companies/sources/source-types.ts';
import { nifPtFound, type ProviderMode, startProvider } from '../../support/provider.ts';
import { MEBIBYTE, paddedJson } from '../../support/provider-faults.ts';
import { until } from '../../support/until.ts';
import { expectNothingOfTheirs, faultOf, found, NIF, SOURCES, sourceAt } from './sources-support.ts';

const MODES: [ProviderMode, SourceErrorReason][] = [
  ['refused', 'unreachable'],
  ['reset', 'unreachable'],
  ['cut-short', 'unreachable'],
  ['not-http', 'unreadable'],
  ['redirect', 'redirect'],
  ['oversized', 'too-large'],
  ['oversized-endless', 'too-large'],
  ['compressed', 'unreadable'],
  ['broken-utf8', 'unreadable'],
  ['empty', 'unreadable'],
  ['wrong-company', 'wrong-company'],
  [{ status: 204 }, 'unreadable'],
  [{ status: 301 }, 'redirect'],
  [{ status: 304 }, 'redirect'],
  [{ status: 403 }, 'http-status'],
  [{ status: 429 }, 'http-status'],
  [{ status: 500 }, 'http-status'],
  [{ status: 503 }, 'http-status'],
];

const FAULTS = MODES.map(([mode, reason]) => ({
  fault: typeof mode === 'object' ? `status ${mode.status}` : String(mode),
  mode,
  reason,
}));

let source: CompanySource;

const provider = await startProvider();
afterAll(() => provider.close());
afterEach(async () => {
  await source.close();
  await provider.mode('normal');
});

const letters = Array(150_000).fill('a');
const figures = Array(30_000).fill(1e30);
test.each([
  ['nif.pt', { address: letters, activity: figures }],
  ['einforma', { domicilioSocial: letters, objetoSocial: figures }],
  ['vies', { address: 'a\n'.repeat(250_000) }],
] as const)(
  'a record of nearly a mebibyte of %s becomes details of at most 10,000 characters each',
  async (name, members) => {
    source = sourceAt(provider, name);
    provider.answer(NIF, found(name, NIF, members));
    const answer = await source.find(NIF);
    if (answer.kind !== 'found') throw new Error(`found expected, not ${answer.kind}`);
    const { structure, ...texts } = answer.details;
    for (const text of Object.values({ ...structure, ...texts }))
      expect(text.length).toBeLessThanOrEqual(10_000);
    expect(answer.details.address).toMatch(/^a(, a){48,49}$/);
  },
);

const JSON_TEXT = JSON.stringify(nifPtFound(NIF));
const padded = (bytes: number) => paddedJson(bytes, JSON_TEXT.slice(1, -1));

test.each<[what: string, body: string | Uint8Array, outcome: string, headers?: Record<string, string>]>([
  ['under the name of another type', JSON_TEXT, 'found', { 'content-type': 'text/html; charset=iso-8859-1' }],
  ['after a byte order mark', `\ufeff${JSON_TEXT}`, 'found'],
  ['of exactly 1 MiB', padded(MEBIBYTE), 'found'],
  ['of one byte more', padded(MEBIBYTE + 1), 'too-large'],
  ['with too large headers', JSON_TEXT, 'too-large', { 'x-large': 'x'.repeat(100_000) }],
  ['nested without end', `{"records":${'['.repeat(500_000)}`, 'unreadable'],
  ...['null', '"text"', '5', '[]', `${JSON_TEXT}${JSON_TEXT}`, `<!-- -->${JSON_TEXT}`].map(
    (body): [string, string, string] => [body.slice(0, 20), body, 'unreadable'],
  ),
])('an answer %s', async (_, body, outcome, headers = {}) => {
  source = sourceAt(provider, 'nif.pt');
  provider.answer(NIF, { status: 200, headers, body });
  const found = await source.find(NIF).catch(({ reason }) => ({ kind: reason }));
  expect(found.kind).toBe(outcome);
  expect(provider.lookups().at(-1)!.headers['accept-encoding']).toBe('identity');
});

/** A source that has been answered once, so that eInforma has its token and the fault is the report's. */
async function warmSource(name: SourceName, providerTimeoutMs = 2000): Promise<CompanySource> {
  provider.answer(NIF, found(name));
  source = sourceAt(provider, name, { providerTimeoutMs });
  expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
  return source;
}

describe.each(SOURCES)('%s', (name) => {
  test.each(FAULTS)(
    'a provider that fails by $fault is the fault $reason, until it answers',
    async ({ mode, reason }) => {
      await warmSource(name);
      await provider.mode(mode);
      const fault = await faultOf(source.find(NIF));
      expect([fault.source, fault.reason]).toEqual([name, reason]);
      expectNothingOfTheirs(fault, provider);
      await provider.mode('normal');
      expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
    },
  );

  test.each(['hung', 'dripping'] as const)(
    'gives a provider that is %s its time and no more, and drops the connection',
    async (mode) => {
      await warmSource(name, 500);
      await provider.mode(mode);
      const startedMs = performance.now();
      const fault = await faultOf(source.find(NIF));
      expect(fault.reason).toBe('timeout');
      expect(performance.now() - startedMs).toBeGreaterThan(480);
      expectNothingOfTheirs(fault, provider);
      await until('their end', () => provider.unanswered() === 0);
    },
  );

  test('leaves no connection open after an answer that it stops reading, and follows no redirect', async () => {
    await warmSource(name);
    for (const mode of ['oversized-endless', 'redirect', { status: 500 }] as const) {
      await provider.mode(mode);
      await faultOf(source.find(NIF));
      await until('their end', () => provider.unanswered() === 0);
    }
    expect(provider.requests.filter(({ kind }) => kind === 'other')).toEqual([]);
  });

  test('asks many at once over a bounded number of connections', async () => {
    await warmSource(name, 5000);
    provider.hold();
    const before = provider.requests.length;
    const questions = Array.from({ length: 100 }, () => source.find(NIF));
    await provider.arrived(before + 32);
    expect(provider.connections()).toBeLessThanOrEqual(32);
    provider.release();
    const answers = await Promise.all(questions);
    expect(answers.every(({ kind }) => kind === 'found')).toBe(true);
    expect(provider.connections()).toBeLessThanOrEqual(32);
  });

  test('gives a question without a free connection the same time; that is our fault, and it was not permitted', async () => {
    await warmSource(name, 500);
    await provider.mode('hung');
    const permitted = new Set<number>();
    const ask = (n: number) => faultOf(source.find(NIF, async () => void permitted.add(n)));
    const faults = await Promise.all(Array.from({ length: 100 }, (_, n) => ask(n)));
    expect(permitted.size).toBe(32);
    for (const [n, { reason }] of faults.entries()) if (!permitted.has(n)) expect(reason).toBe('busy');
    await until('their end', () => provider.unanswered() === 0);
  });

  test('a time-out that this process was too busy to notice is its own fault', async () => {
    await warmSource(name, 200);
    provider.hold();
    const question = faultOf(source.find(NIF));
    Bun.sleepSync(600);
    expect((await question).reason).toBe('busy');
    provider.release();
  });

  test('sends nothing that is not permitted', async () => {
    await warmSource(name);
    const before = provider.requests.length;
    const refused = new Error('over budget');
    const question = source.find(NIF, () => Promise.reject(refused));
    expect(await question.catch((error) => error)).toBe(refused);
    expect(provider.requests).toHaveLength(before);
    expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
  });

  test('fails what is still being asked when it is closed', async () => {
    await warmSource(name, 5000);
    await provider.mode('hung');
    const before = provider.requests.length;
    const question = faultOf(source.find(NIF));
    await provider.arrived(before + 1);
    await source.close();
    expect((await question).reason).toBe('unreachable');
    expect((await faultOf(source.find(NIF))).reason).toBe('unreachable');
    await until('their end', () => provider.unanswered() === 0);
  });
});

test('a question that waited for its connection, and has no answer in the rest of its time, is our fault', async () => {
  await warmSource('vies', 1500);
  provider.hold();
  const before = provider.requests.length;
  const crowd = Array.from({ length: 33 }, () => source.find(NIF).catch((error) => error));
  await provider.arrived(before + 32);
  provider.release();
  provider.hold();
  await provider.arrived(before + 33);
  expect(await crowd.at(-1)).toMatchObject({ reason: 'busy' });
  provider.release();
  expect(await crowd[0]).toMatchObject({ kind: 'found' });
});

test.each(FAULTS.filter(({ mode }) => mode !== 'wrong-company'))(
  'a provider of a token that fails by $fault is the fault $reason, too',
  async ({ mode, reason }) => {
    await provider.mode(mode);
    source = sourceAt(provider, 'einforma');
    const fault = await faultOf(source.find(NIF));
    expect([fault.source, fault.reason]).toEqual(['einforma', reason]);
    expectNothingOfTheirs(fault, provider);
  },
);

test.each(SOURCES)(
  '%s: a provider that never completes TLS is a time-out, and the connection is dropped',
  async (name) => {
    let open = 0;
    const silent = createServer((socket) => {
      open++;
      socket.on('error', () => {});
      socket.on('data', () => {});
      socket.on('close', () => open--);
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(silent.address() as { port: number }).port}`;
    source = sourceAt(provider, name, {
      providerTimeoutMs: 500,
      ...(name === 'nif.pt' ? { nifPtUrl: url } : { viesUrl: url, einformaUrl: url }),
    });
    expect((await faultOf(source.find(NIF))).reason).toBe('timeout');
    await until('their end', () => open === 0);
    silent.close();
  },
);
