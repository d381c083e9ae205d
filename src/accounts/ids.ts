import { randomBytes } from 'node:crypto';

/** A random id such as `acc_k3v9q0d2m8x1r7ta`: it never begins with `-`, and is safe in URLs and shells. */
export function newId(prefix: 'acc' | 'key'): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  let id = `${prefix}_`;
  for (const byte of randomBytes(16)) id += alphabet[byte & 31];
  return id;
}
