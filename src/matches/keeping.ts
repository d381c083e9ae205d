import { normalizeName, sortKey } from '../companies/name.ts';
import type { Keeping } from '../search/answer.ts';
import { type MatchQuery, wordsQuery } from './query.ts';
import { arrange } from './tiers.ts';

/** Before a query in its key. No query begins with a blank, so that no two kinds of queries share a key. */
const MARKS = { match: ' ', matches: '  ' };

/**
 * How answers with at most `limit` entries are kept. A longer query has fewer matches, but they may be in another order: a name that
 * began with the shorter one need not begin with the longer.
 */
export function keepMatches(kind: keyof typeof MARKS, limit: number): Keeping<MatchQuery> {
  return {
    keyOf: (query) => (query.kind === 'words' ? MARKS[kind] + query.normalized : null),
    limit,
    narrow(entries, key) {
      const keys = new Map(entries.map((entry) => [entry, Buffer.from(sortKey(entry.legalName))]));
      const inOrder = entries.toSorted(
        (a, b) => Buffer.compare(keys.get(a)!, keys.get(b)!) || Number(a.nif) - Number(b.nif),
      );
      return arrange(inOrder, wordsQuery(key.trimStart()), ({ legalName }) => normalizeName(legalName));
    },
  };
}
