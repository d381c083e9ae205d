import { hash, randomBytes } from 'node:crypto';
import { KEY_PREFIX } from '../../platform/observability/redaction.ts';

/** Random bytes of a key: 168 bits. */
export const RANDOM_BYTES = 21;
const CHECKSUM_BYTES = 4;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const SHAPE = /^svc_[a-z2-7]{40}$/;
export const SECRET_LENGTH = KEY_PREFIX.length + 40;

/** A new key: `svc_` and 40 characters of base32, 168 random bits and their CRC-32. */
export function generateSecret(random: Buffer = randomBytes(RANDOM_BYTES)): string {
  return KEY_PREFIX + base32(Buffer.concat([random, checksum(random)]));
}

/**
 * Whether the text has the form of a key and its check sum is right. Refuses nearly all garbage without a query;
 * it says nothing about whether the key exists.
 */
export function isWellFormedSecret(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const bytes = fromBase32(text.slice(KEY_PREFIX.length));
  return checksum(bytes.subarray(0, RANDOM_BYTES)).equals(bytes.subarray(RANDOM_BYTES));
}

/** The stored form of a key. The key has 168 random bits, so that a plain SHA-256 can't be searched. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

function checksum(bytes: Uint8Array): Buffer {
  const sum = Buffer.alloc(CHECKSUM_BYTES);
  sum.writeUInt32BE(Bun.hash.crc32(bytes));
  return sum;
}

/** 25 bytes as a number in base 32: 40 digits of RFC 4648 in lower case. */
function base32(bytes: Buffer): string {
  const digits = BigInt(`0x${bytes.toString('hex')}`)
    .toString(32)
    .padStart(40, '0');
  return digits.replace(/./g, (digit) => ALPHABET[Number.parseInt(digit, 32)]!);
}

function fromBase32(digits: string): Buffer {
  let number = 0n;
  for (const digit of digits) number = number * 32n + BigInt(ALPHABET.indexOf(digit));
  return Buffer.from(number.toString(16).padStart(50, '0'), 'hex');
}
