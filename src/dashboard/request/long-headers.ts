import { KIB } from '../../platform/units.ts';

/** A browser's address and headers have 1 or 2 KB. */
const MAX_HEADER_BYTES = 16 * KIB;

/**
 * Whether a request's address and headers are too long for a page. The server itself takes 64 KiB, because a long `q` of the API is a
 * search that costs a credit.
 */
export function hasLongHeaders({ url, headers }: Request): boolean {
  let bytes = url.length;
  // With its colon, blank and line end.
  for (const [name, value] of headers) bytes += name.length + value.length + 4;
  return bytes > MAX_HEADER_BYTES;
}
