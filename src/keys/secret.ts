import { hash, randomBytes } from 'node:crypto';
import { KEY_PREFIX } from '../observability/redaction.ts';

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
export function hashSecret(secret: string): Buffer;
export function hashSecret(secret: string, encoding: 'base64'): string;
export function hashSecret(secret: string, encoding: 'base64' | 'buffer' = 'buffer'): Buffer | string {
  return encoding === 'buffer' ? hash('sha256', secret, 'buffer') : Bun.SHA256.hash(secret, encoding);
}

function checksum(bytes: Uint8Array): Buffer {
  const sum = Buffer.alloc(CHECKSUM_BYTES);
  sum.writeUInt32BE(Bun.hash.crc32(bytes));
  return sum;
}

function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >>> bits) & 31];
    }
  }
  return text;
}

function fromBase32(text: string): Buffer {
  const bytes = Buffer.alloc((text.length * 5) / 8);
  let bits = 0;
  let value = 0;
  let at = 0;
  for (const character of text) {
    value = ((value << 5) | ALPHABET.indexOf(character)) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (value >>> bits) & 0xff;
    }
  }
  return bytes;
}
