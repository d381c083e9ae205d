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
  expect([isWellFormedSecret(secret), isTestSecret(secret), isTestSecret(generateSecret())]).toEqual([
    true,
    true,
    false,
  ]);
  const garbage = [
    secret.slice(0, -1),
    `${secret}a`,
    secret.replace('test', 'tost'),
    secret.replace('test_', 'test'),
  ];
  garbage.push(secret.replace('svc_test_', 'svc_test_test_'), `svc_test_${'a'.repeat(40)}`);
  expect(garbage.filter(isWellFormedSecret)).toEqual([]);
});

test('a key with one character mistyped is refused', () => {
  const position = fc.integer({ min: 4, max: 43 });
  fc.assert(
    fc.property(position, fc.constantFrom(...ALPHABET), (at, character) => {
      const secret = generateSecret();
      fc.pre(secret[at] !== character);
      expect(isWellFormedSecret(secret.slice(0, at) + character + secret.slice(at + 1))).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

test('a key with two neighbours swapped is refused', () => {
  fc.assert(
    fc.property(fc.integer({ min: 4, max: 42 }), (at) => {
      const secret = generateSecret();
      const [one, other] = [secret[at]!, secret[at + 1]!];
      fc.pre(one !== other);
      expect(isWellFormedSecret(secret.slice(0, at) + other + one + secret.slice(at + 2))).toBe(false);
    }),
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
  fc.assert(fc.property(fc.string(), (text) => !isWellFormedSecret(text)));
});

test('nearly no text of the right form passes by chance', () => {
  const shaped = fc.array(fc.constantFrom(...ALPHABET), { minLength: 40, maxLength: 40 });
  fc.assert(
    fc.property(shaped, (characters) => !isWellFormedSecret(`svc_${characters.join('')}`)),
    { numRuns: 5000 },
  );
});

test('what is kept is the SHA-256 and the prefix with six more characters', () => {
  expect(hashSecret('svc_example').toString('hex')).toBe(
    new Bun.CryptoHasher('sha256').update('svc_example').digest('hex'),
  );
  expect(secretStart('svc_abcdefghij')).toBe('svc_abcdef');
  expect(secretStart('svc_test_abcdefghij')).toBe('svc_test_abcdef');
});
