import { beforeEach, describe, expect, test } from 'bun:test';
import { type Breaker, createBreaker } from '../../../src/companies/sources/company-source.ts';
import { SourceError, type SourceErrorReason } from '../../../src/companies/sources/source-types.ts';
import { startProvider } from '../../support/provider.ts';
import { clock, faultOf, found, NIF, SOURCES, sourceAt } from './support.ts';

let time: ReturnType<typeof clock>;
let breaker: Breaker;
let companies: number;

beforeEach(() => {
  time = clock();
  breaker = createBreaker('vies', time.now);
  companies = 0;
});

/** A question about a new company, or about the given one. */
const failing = (reason: SourceErrorReason = 'timeout', nif = `company ${companies++}`) =>
  faultOf(breaker(nif, () => Promise.reject(new SourceError('vies', reason))));
const answering = () => breaker(NIF, async () => 'answer');

async function open() {
  for (let n = 0; n < 10; n++) expect((await failing()).reason).toBe('timeout');
}

test('lets everything through until ten faults came in a row', async () => {
  for (let n = 0; n < 9; n++) await failing();
  expect(await answering()).toBe('answer');
  for (let n = 0; n < 9; n++) await failing();
  expect(await answering()).toBe('answer');
});

test('skips without asking after ten faults in a row', async () => {
  await open();
  let asked = 0;
  const fault = await faultOf(breaker(NIF, async () => asked++));
  expect([fault.source, fault.reason, asked]).toEqual(['vies', 'skipped', 0]);
});

test('one company, however often it is asked for, closes the source for nobody', async () => {
  for (let n = 0; n < 30; n++) expect((await failing('http-status', NIF)).reason).toBe('http-status');
  for (let n = 0; n < 8; n++) await failing();
  expect(await answering()).toBe('answer');
  await open();
  expect((await failing('timeout', NIF)).reason).toBe('skipped');
});

test('what never reached the source neither opens nor closes it', async () => {
  for (let n = 0; n < 9; n++) await failing();
  const refused = new Error('over budget');
  for (let n = 0; n < 5; n++) {
    expect((await failing('busy')).reason).toBe('busy');
    expect(await breaker(NIF, () => Promise.reject(refused)).catch((error) => error)).toBe(refused);
  }
  expect((await failing()).reason).toBe('timeout');
  expect((await failing()).reason).toBe('skipped');
});

test.each(['limit', 'bad-key', 'wrong-company', 'unexpected', 'provider-error'] as const)(
  'does not open for answers that come promptly: %s',
  async (reason) => {
    for (let n = 0; n < 30; n++) expect((await failing(reason)).reason).toBe(reason);
    expect(await answering()).toBe('answer');
  },
);

describe('when it is open', () => {
  beforeEach(open);

  test('asks nobody for ten seconds, and closes with the first answer after them', async () => {
    time.advance(9_999);
    expect((await failing()).reason).toBe('skipped');
    time.advance(1);
    expect(await answering()).toBe('answer');
    for (let n = 0; n < 9; n++) await failing();
    expect(await answering()).toBe('answer');
  });

  test('stays open for another round when it is a fault again', async () => {
    time.advance(10_000);
    expect((await failing()).reason).toBe('timeout');
    expect((await failing()).reason).toBe('skipped');
  });

  test('lets everybody ask after ten seconds, even while a question hangs', async () => {
    time.advance(10_000);
    const hanging = Promise.withResolvers<string>();
    const question = breaker(NIF, () => hanging.promise);
    expect(await Promise.all([answering(), answering()])).toEqual(['answer', 'answer']);
    hanging.resolve('late');
    await question;
  });
});

test.each(SOURCES)('%s is left alone after ten faults and asked again once it is back', async (name) => {
  const provider = await startProvider();
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
  await provider.close();
});
