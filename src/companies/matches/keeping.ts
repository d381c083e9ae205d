import type { KeyOf } from '../search/answer.ts';
import type { MatchQuery } from './query.ts';

/** The key of a match in the cache of answers. No query begins with a blank, so that searches and matches share no key. */
export const keyOfMatch: KeyOf<MatchQuery> = (query) =>
  query.kind === 'words' ? ` ${query.normalized}` : null;
