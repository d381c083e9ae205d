import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  generateSecret,
  hashSecret,
  isTestSecret,
  isWellFormedSecret,
} from '../../../src/metering/keys/secret.ts';
import { secretStart } from '../../../src/platform/observability/redaction.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

test('a key is svc_ and 40 characters: 168 random bits and a check sum', () => {
  const secrets = Array.from({ length: 1000 }, () => generateSecret());
  for (const secret of secrets) expect(secret).toMatch(/^svc_[a-z2-7]{40}$/);
  expect(new Set(secrets).size).toBe(1000);
  // Every one of the characters that hold random bits takes many values.
  for (let at = 4; at < 4 + Math.floor(168 / 5); at += 1) {
    expect(new Set(secrets.map((secret) => secret[at])).size).toBeGreaterThan(24);
  }
});

test('a test key has another prefix, and the rest of the form of a key', () => {
  const secret = generateSecret(undefined, true);
  expect(secret).toMatch(/^svc_test_[a-z2-7]{40}$/);
  expect(isWellFormedSecret(secret)).toBe(true);
  expect([secret, generateSecret()].map(isTestSecret)).toEqual([true, false]);
  const others = ['svc_tost_', 'svc_test', 'svc_test_test_'].map((other) =>
    secret.replace('svc_test_', other),
  );
  const garbage = [...others, secret.slice(0, -1), `${secret}a`, `svc_test_${'a'.repeat(40)}`];
  expect(garbage.filter(isWellFormedSecret)).toEqual([]);
});

const key = generateSecret();
const upTo = (max: number) => fc.integer({ min: 'svc_'.length, max });
const digit = fc.constantFrom(...ALPHABET);

test.each<[string, fc.Arbitrary<string>]>([
  [
    'with one character mistyped',
    fc.tuple(upTo(43), digit).map(([at, other]) => key.slice(0, at) + other + key.slice(at + 1)),
  ],
  [
    'with two neighbours swapped',
    upTo(42).map((at) => key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2)),
  ],
  [
    'that has its form by chance',
    fc.array(digit, { minLength: 40, maxLength: 40 }).map((digits) => `svc_${digits.join('')}`),
  ],
  ['that is any text', fc.string()],
])('a key %s is refused', (_, texts) => {
  fc.assert(
    fc.property(texts, (text) => text === key || !isWellFormedSecret(text)),
    { numRuns: 5000 },
  );
});

test('garbage of any form is refused', () => {
  const secret = generateSecret();
  const garbage = [
    '',
    'svc_',
    secret.slice(4),
    secret.slice(0, -1),
    `${secret}a`,
    `${secret}\n`,
    secret.toUpperCase(),
    secret.replace('svc_', 'SVC_'),
    secret.replace('svc_', 'svc-'),
    ` ${secret}`,
    `svc_${'a'.repeat(40)}`,
    `svc_${'7'.repeat(40)}`,
    `svc_${'é'.repeat(40)}`,
    `svc_${'a'.repeat(100_000)}`,
  ];
  expect(garbage.filter(isWellFormedSecret)).toEqual([]);
});

test('what is kept is the SHA-256 and the prefix with six more characters', () => {
  expect(hashSecret('svc_example').toString('hex')).toBe(
    new Bun.CryptoHasher('sha256').update('svc_example').digest('hex'),
  );
  expect(secretStart('svc_abcdefghij')).toBe('svc_abcdef');
  expect(secretStart('svc_test_abcdefghij')).toBe('svc_test_abcdef');
});
