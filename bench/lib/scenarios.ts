import { normalizeName } from '../../src/companies/name.ts';
import type { SeededKeys } from '../seed.ts';
import { get, post } from './load.ts';
import { generateCompany, seededRandom } from './names.ts';

/** One kind of load. */
export interface Scenario {
  name: string;
  /** The process that answers. `uncached` is the service without a cache of searches. */
  on: 'uncached' | 'cached';
  /** The status of a right answer, by default 200. */
  status?: number;
  /** Companies or names in one request, by default 1. */
  companiesPerRequest?: number;
  /** The most connections for it. The estimate of load counts a batch as many requests, so with more some would be refused. */
  mostConnections?: number;
  /** The path and the body of a request. */
  draw(random: () => number): { path: string; body?: unknown };
  /** Accounts that ask, by default the rich ones. */
  as?: keyof SeededKeys;
  /** Whether only the first of these accounts asks. */
  isHot?: boolean;
}

const REQUESTS = 100_000;
/** Fewer, because the load generator reads all of them first. */
const BATCHES = 1000;
const MOST_BATCHES_AT_ONCE = 16;

const API = '/api/v1';
const searchOf = (query: string) => ({ path: `${API}/companies?q=${encodeURIComponent(query)}` });

/** Every kind of load. @param companies in the directory @param records of companies with stored details */
export function createScenarios(companies: number, records: number): Scenario[] {
  const anyOf = (most: number, random: () => number) => generateCompany(Math.floor(random() * most));
  const lookup: Scenario['draw'] = (random) => ({ path: `${API}/companies/${anyOf(records, random).nif}` });
  const nifs = (path: string, count: number) => (random: () => number) => ({
    path: API + path,
    body: { nifs: Array.from({ length: count }, () => anyOf(records, random).nif) },
  });
  const prefix = (random: () => number) => {
    const name = normalizeName(anyOf(companies, random).name);
    return [...name].slice(0, 1 + Math.floor(random() * 24)).join('').trim(); // biome-ignore format: one line
  };
  const batch = (companiesPerRequest: number) => ({
    companiesPerRequest,
    mostConnections: MOST_BATCHES_AT_ONCE,
  });
  return [
    { name: 'search', on: 'uncached', draw: (random) => searchOf(prefix(random)) },
    { name: 'autocomplete', on: 'cached', draw: typist(companies) },
    {
      name: 'match',
      on: 'uncached',
      draw: (random) => ({
        path: `${API}/matches?q=${encodeURIComponent(anyOf(companies, random).name)}`,
      }),
    },
    {
      name: 'resolve of 100',
      on: 'uncached',
      ...batch(100),
      draw: (random) => ({
        path: `${API}/resolutions`,
        body: { names: Array.from({ length: 100 }, () => anyOf(companies, random).name) },
      }),
    },
    { name: 'lookup', on: 'cached', draw: lookup },
    { name: 'lookup of one account', on: 'cached', isHot: true, draw: lookup },
    { name: 'lookup of 100', on: 'cached', ...batch(100), draw: nifs('/lookups', 100) },
    { name: 'debts of 1000', on: 'cached', ...batch(1000), draw: nifs('/debts', 1000) },
    { name: 'usage', on: 'cached', draw: () => ({ path: `${API}/usage` }) },
    { name: 'refusal by rate', on: 'cached', status: 429, as: 'limited', draw: lookup },
    { name: 'refusal by credits', on: 'cached', status: 429, as: 'exhausted', draw: lookup },
  ];
}

/** The scenarios of these names, separated by commas. @throws Error for an unknown name */
export function scenariosOf(all: Scenario[], names: string): Scenario[] {
  return names.split(',').map((name) => {
    const found = all.find((scenario) => scenario.name === name.trim());
    if (found === undefined) throw new Error(`no scenario ${name}; there are ${all.map((one) => one.name)}`);
    return found;
  });
}

/** Requests as they go over the wire. @param seed the same for the same requests */
export function requestsOf(scenario: Scenario, keys: SeededKeys, seed = 1): string[] {
  const random = seededRandom(seed * 7919);
  const asking = keys[scenario.as ?? 'rich'];
  const anyKey = () => asking[scenario.isHot ? 0 : Math.floor(random() * asking.length)];
  return Array.from({ length: scenario.companiesPerRequest ? BATCHES : REQUESTS }, () => {
    const { path, body } = scenario.draw(random);
    return body === undefined ? get(path, anyKey()) : post(path, body, anyKey());
  });
}

/**
 * A person who types names into a field that searches at every letter, from the first to, mostly, a handful. The name is drawn by
 * Zipf's law (s = 1.0).
 */
function typist(companies: number): Scenario['draw'] {
  let name: string[] = [];
  let [typed, letters] = [0, 0];
  return (random) => {
    if (typed === letters) {
      // The rank of a Zipf draw with s = 1 is close to companies^u.
      const rank = Math.floor(companies ** random());
      // Ranks are spread over the directory: the popular ones are not neighbours.
      name = [...normalizeName(generateCompany((Math.imul(rank, 2_654_435_761) >>> 0) % companies).name)];
      [typed, letters] = [0, Math.min(name.length, 3 + Math.floor(random() * 10))];
    }
    typed += 1;
    return searchOf(name.slice(0, typed).join('').trim());
  };
}
