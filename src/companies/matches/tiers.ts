/**
 * The order of matches (docs/api.md: by any words): names that begin with the query, then names that have all of its words whole, then the
 * rest; each by sort key and NIF.
 */
import type { WordsQuery } from './matches-query.ts';

/**
 * The place of a name among the three, from 0.
 * @param name a normalized name
 * @returns `null` if the name is no match
 */
function tierOf(name: string, { normalized, before, last }: WordsQuery): 0 | 1 | 2 | null {
  // Then it has every word, because those before the last end at a blank.
  if (name.startsWith(normalized)) return 0;
  const words = name.split(' ');
  if (!before.every((word) => words.includes(word))) return null;
  if (words.includes(last)) return 1;
  return words.some((word) => word.startsWith(last)) ? 2 : null;
}

/** The matches among some entries, in their order. @param entries in the order of sort key and NIF */
export function arrange<Entry extends { normalized: string }>(entries: Entry[], query: WordsQuery): Entry[] {
  const tiers: [Entry[], Entry[], Entry[]] = [[], [], []];
  for (const entry of entries) {
    const tier = tierOf(entry.normalized, query);
    if (tier !== null) tiers[tier].push(entry);
  }
  return tiers.flat();
}
