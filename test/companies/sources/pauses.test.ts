/** When a source is left alone: after faults about ten companies in a row, and after an answer of nif.pt that a limit is reached. */
import { afterAll, expect, test } from 'bun:test';
import { createBreaker } from '../../../src/companies/sources/company-source.ts';
import { SourceError, type SourceErrorReason } from '../../../src/companies/sources/source-types.ts';
import { nifPtError, nifPtFound, nifPtLimit, startProvider } from '../../support/provider.ts';
import { clock, faultOf, found, NIF, SOURCES, sourceAt } from './sources-support.ts';

const provider = await startProvider();
afterAll(() => provider.close());

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

test.each(SOURCES)('%s is left alone after ten faults, and asked again once it is back', async (name) => {
  const time = clock();
  const source = sourceAt(provider, name, { now: time.now });
  await provider.mode({ status: 500 });
  for (let n = 0; n < 10; n++) await faultOf(source.find(`50000000${n}`));
  const asked = provider.requests.length;
  expect((await faultOf(source.find(NIF))).reason).toBe('skipped');
  expect(provider.requests).toHaveLength(asked);
  await provider.mode('normal');
  provider.answer(NIF, found(name));
  time.advance(10_000);
  expect(await source.find(NIF)).toMatchObject({ kind: 'found' });
  await source.close();
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
    const source = sourceAt(provider, 'nif.pt', {
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
    await source.close();
  },
);

test('a shorter limit does not shorten a longer one', async () => {
  const time = clock();
  const source = sourceAt(provider, 'nif.pt', { now: time.now });
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
  await source.close();
});
