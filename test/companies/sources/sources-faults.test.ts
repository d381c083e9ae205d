/**
 * The faults of a source, and when the service stops asking it: after faults about ten companies in a row, or once nif.pt says that a
 * limit is reached.
 */
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { createBreaker } from '../../../src/companies/sources/company-source.ts';
import {
  type CompanySource,
  SourceError,
  type SourceErrorReason,
  type SourceName,
} from '../../../src/companies/sources/source-types.ts';
import {
  nifPtError,
  nifPtFound,
  nifPtLimit,
  type ProviderMode,
  startProvider,
} from '../../support/provider.ts';
import { MEBIBYTE, paddedJson } from '../../support/provider-faults.ts';
import { until } from '../../support/until.ts';
import {
  clock,
  expectNothingOfTheirs,
  faultOf,
  found,
  NIF,
  SOURCES,
  sourceAt,
  timeoutOf,
} from './sources-support.ts';

const REASONS: [SourceErrorReason, ProviderMode[]][] = [
  ['unreachable', ['refused', 'reset', 'cut-short']],
  ['unreadable', ['not-http', 'compressed', 'broken-utf8', 'empty', { status: 204 }]],
  ['redirect', ['redirect', { status: 301 }, { status: 304 }]],
  ['too-large', ['oversized', 'oversized-endless']],
  ['wrong-company', ['wrong-company']],
  ['http-status', [403, 429, 500, 503].map((status) => ({ status }))],
];
const FAULTS = REASONS.flatMap(([reason, modes]) =>
  modes.map((mode) => ({ fault: typeof mode === 'object' ? `status ${mode.status}` : mode, mode, reason })),
);

let source: CompanySource;

const provider = await startProvider();
afterAll(() => provider.close());
afterEach(async () => {
  await source?.close();
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
      const startedNs = Bun.nanoseconds();
      const fault = await timeoutOf(source.find(NIF));
      expect(Bun.nanoseconds() - startedNs).toBeGreaterThan(480e6);
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
    source = sourceAt(provider, name, { providerTimeoutMs: 200 });
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
    await timeoutOf(source.find(NIF));
    await until('their end', () => open === 0);
    silent.close();
  },
);

/** A question that is answered, a fault about another company each time, or about one; or time that passes. */
type Step = 'answer' | SourceErrorReason | 'refused' | `one ${SourceErrorReason}` | number;
const times = (count: number, step: Step): Step[] => Array(count).fill(step);
const OPEN = times(10, 'timeout');

test.each<[what: string, steps: Step[], next: 'answer' | 'skipped']>([
  ['nine faults in a row', times(9, 'timeout'), 'answer'],
  ['ten', OPEN, 'skipped'],
  ['an answer between them', [...times(9, 'timeout'), 'answer', ...times(9, 'timeout')], 'answer'],
  ['thirty about one company', [...times(30, 'one http-status'), ...times(8, 'timeout')], 'answer'],
  ['a tenth company after them', [...times(30, 'one http-status'), ...times(9, 'timeout')], 'skipped'],
  ...(['limit', 'bad-key', 'wrong-company', 'unexpected', 'provider-error'] as const).map(
    (reason): [string, Step[], 'answer'] => [reason, [...times(9, 'timeout'), reason, 'timeout'], 'answer'],
  ),
  [
    'nine, and what never reached the source',
    [...times(9, 'timeout'), ...times(5, 'busy'), ...times(5, 'refused'), 'timeout'],
    'skipped',
  ],
  ['less than ten seconds', [...OPEN, 9_999], 'skipped'],
  ['ten seconds', [...OPEN, 10_000], 'answer'],
  ['another fault then', [...OPEN, 10_000, 'timeout'], 'skipped'],
  ['an answer then', [...OPEN, 10_000, 'answer', ...times(9, 'timeout')], 'answer'],
])('after %s', async (_, steps, next) => {
  const time = clock();
  const breaker = createBreaker('vies', time.now);
  const refused = new Error('over budget');
  const ask = (nif: string, step: string) =>
    breaker(nif, async () => {
      if (step === 'refused') throw refused;
      if (step !== 'answer') throw new SourceError('vies', step as SourceErrorReason);
      return step;
    }).catch((error) => (error instanceof SourceError ? error.reason : error));
  for (const [at, step] of steps.entries()) {
    if (typeof step === 'number') time.advance(step);
    else {
      const [, reason] = /^one (.*)$/.exec(step) ?? [];
      const outcome = await ask(reason === undefined ? `company ${at}` : NIF, reason ?? step);
      expect(outcome).toBe(step === 'refused' ? refused : (reason ?? step));
    }
  }
  expect(await ask(NIF, 'answer')).toBe(next);
});

test('when the ten seconds are over everybody may ask, even while a question hangs', async () => {
  const time = clock();
  const breaker = createBreaker('vies', time.now);
  for (let n = 0; n < 10; n += 1)
    await faultOf(breaker(`company ${n}`, () => Promise.reject(new SourceError('vies', 'timeout'))));
  time.advance(10_000);
  const hanging = Promise.withResolvers<string>();
  const question = breaker(NIF, () => hanging.promise);
  expect(await breaker(NIF, async () => 'answer')).toBe('answer');
  hanging.resolve('late');
  await question;
});

test.each([
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 3_600_000],
  ['month', 3_600_000],
] as const)(
  'after a limit per %s nif.pt is left alone for %d ms, for all companies, and asked again then',
  async (window, pauseMs) => {
    const time = clock();
    const told: string[] = [];
    source = sourceAt(provider, 'nif.pt', {
      now: time.now,
      onLimit: (...limit) => void told.push(limit.join(' ')),
    });
    const asked = provider.requests.length;
    for (let limits = 1; limits <= 2; limits += 1) {
      provider.answer(NIF, nifPtLimit(window));
      expect((await faultOf(source.find(NIF))).reason).toBe('limit');
      expect(told).toEqual(Array(limits).fill(`nif.pt ${window}`));
      time.advance(pauseMs - 1);
      for (const nif of [NIF, '500000000']) expect((await faultOf(source.find(nif))).reason).toBe('skipped');
      expect(provider.requests).toHaveLength(asked + limits);
      time.advance(1);
    }
    provider.answer(NIF, nifPtError('Something new'));
    expect((await faultOf(source.find(NIF))).reason).toBe('provider-error');
    provider.answer(NIF, nifPtFound(NIF));
    expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
  },
);

test('a shorter limit does not shorten a longer one', async () => {
  const time = clock();
  source = sourceAt(provider, 'nif.pt', { now: time.now });
  const asked = provider.requests.length;
  provider.hold();
  provider.answer('500000000', nifPtLimit('hour'));
  provider.answer(NIF, nifPtLimit('minute'));
  const faults = [faultOf(source.find('500000000')), faultOf(source.find(NIF))];
  await provider.arrived(asked + 2);
  provider.release();
  expect((await Promise.all(faults)).map(({ reason }) => reason)).toEqual(['limit', 'limit']);
  time.advance(60_000);
  expect((await faultOf(source.find(NIF))).reason).toBe('skipped');
});
