import type { KeyOf } from '../search/answer.ts';
import type { MatchQuery } from './query.ts';

/** Before a query in its key. No query begins with a blank, so that no two kinds of queries share a key. */
const MARKS = { match: ' ', matches: '  ' };

/** The keys of matches in the cache of answers. */
export function keyOfMatches(kind: keyof typeof MARKS): KeyOf<MatchQuery> {
  return (query) => (query.kind === 'words' ? MARKS[kind] + query.normalized : null);
}
