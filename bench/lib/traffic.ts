import { normalizeName } from '../../src/companies/name.ts';
import { generateCompany, seededRandom } from './names.ts';

/** Beginnings of 1 to 24 characters of names chosen at random. */
export function randomPrefixes(companies: number, count: number, seed = 7): string[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const name = normalizeName(generateCompany(Math.floor(random() * companies)).name);
    return [...name]
      .slice(0, 1 + Math.floor(random() * 24))
      .join('')
      .trim();
  });
}

/**
 * People who type names into a field that searches at every letter: which name is drawn by Zipf's law (s = 1.0) over the
 * names, from its first letter to, mostly, a handful.
 */
export function autocompleteQueries(companies: number, count: number, seed = 11): string[] {
  const random = seededRandom(seed);
  const queries: string[] = [];
  while (queries.length < count) {
    // The rank of a Zipf draw with s = 1 is close to companies^u.
    const rank = Math.floor(companies ** random());
    // Ranks are spread over the directory: the popular ones are not neighbours.
    const place = (Math.imul(rank, 2_654_435_761) >>> 0) % companies;
    const name = [...normalizeName(generateCompany(place).name)];
    const letters = Math.min(name.length, 3 + Math.floor(random() * 10));
    for (let typed = 1; typed <= letters; typed += 1) queries.push(name.slice(0, typed).join('').trim());
  }
  return queries.slice(0, count);
}
