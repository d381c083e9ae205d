import { createHash } from 'node:crypto';
import type { FileDigest } from '../../src/companies/file-digest.ts';

/** The digest of a file with these bytes. */
export const digestOf = (content: string | Uint8Array): FileDigest => ({
  sha256: createHash('sha256').update(content).digest('hex'),
  bytes: Buffer.byteLength(content),
});
