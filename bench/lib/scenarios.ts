import { normalizeName } from '../../src/companies/name.ts';
import { readEntry } from '../../src/companies/search/document.ts';
import { HIT_PATHS, prefixFilter, searchBody } from '../../src/companies/search/msearch.ts';
import type { SeededKeys } from '../seed.ts';
import { get, post, type Target } from './load.ts';
import { generateCompany, seededRandom } from './names.ts';
import type { Service, Stack } from './stack.ts';

/** One kind of load. */
export interface Scenario {
  name: string;
  /** The process that answers. `uncached` is the service without a cache of searches. */
  on: 'bare' | 'elasticsearch' | 'uncached' | 'cached';
  /** The scenario that this one's rate is divided by. */
  against?: string;
  /** The status of a right answer, by default 200. */
  status?: number;
  /** Companies or names in one request, by default 1. For the ratio its rate is multiplied by them. */
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
export function createScenarios(companies: number, records: number, alias = 'none'): Scenario[] {
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
    { name: 'bare Elysia route', on: 'bare', draw: () => ({ path: '/' }) },
    {
      name: 'Elasticsearch asked directly',
      on: 'elasticsearch',
      draw: (random) => directQuery(alias, prefix(random)),
    },
    {
      name: 'search',
      on: 'uncached',
      against: 'Elasticsearch asked directly',
      draw: (random) => searchOf(prefix(random)),
    },
    {
      name: 'autocomplete',
      on: 'cached',
      against: 'Elasticsearch asked directly',
      draw: typist(companies),
    },
    {
      name: 'match',
      on: 'uncached',
      against: 'search',
      draw: (random) => ({
        path: `${API}/matches?q=${encodeURIComponent(anyOf(companies, random).name)}`,
      }),
    },
    {
      name: 'resolve of 100',
      on: 'uncached',
      against: 'match',
      ...batch(100),
      draw: (random) => ({
        path: `${API}/resolutions`,
        body: { names: Array.from({ length: 100 }, () => anyOf(companies, random).name) },
      }),
    },
    { name: 'lookup', on: 'cached', against: 'bare Elysia route', draw: lookup },
    { name: 'lookup of one account', on: 'cached', against: 'lookup', isHot: true, draw: lookup },
    { name: 'lookup of 100', on: 'cached', against: 'lookup', ...batch(100), draw: nifs('/lookups', 100) },
    { name: 'debts of 1000', on: 'cached', against: 'lookup', ...batch(1000), draw: nifs('/debts', 1000) },
    { name: 'usage', on: 'cached', against: 'bare Elysia route', draw: () => ({ path: `${API}/usage` }) },
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
    const key = scenario.on === 'elasticsearch' ? undefined : anyKey();
    return body === undefined ? get(path, key) : post(path, body, key);
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

/** The service's own query for a prefix, as one `_search` that answers what the service reads. */
function directQuery(alias: string, prefix: string) {
  const path = `/${alias}/_search?filter_path=${HIT_PATHS.join(',')}`;
  return { path, body: searchBody(prefixFilter(prefix)) };
}

/** Checks that the direct query finds the company, because the service's searches are compared with it. @throws if it doesn't */
export async function checkDirectSearch({ servers, alias }: Stack): Promise<void> {
  const prefix = normalizeName(generateCompany(0).name).slice(0, 12);
  const { path, body } = directQuery(alias, prefix);
  const answer = await fetch(servers.elasticsearchUrl + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
  });
  const { hits } = (await answer.json()) as { hits: { hits: { sort: [string] }[] } };
  const names = hits.hits.map(({ sort }) => normalizeName(readEntry(sort[0]).legalName));
  if (names.length === 0 || !names.every((name) => name.startsWith(prefix)))
    throw new Error('Elasticsearch asked directly does not answer what the service would');
}

/** Where a scenario's requests go. */
export function targetOf(
  { on }: Scenario,
  { servers }: Stack,
  services: Record<Exclude<Scenario['on'], 'elasticsearch'>, Service>,
): Omit<Target, 'requests'> {
  if (on !== 'elasticsearch') return services[on];
  const { hostname, port } = new URL(servers.elasticsearchUrl);
  return { host: hostname, port: Number(port) };
}
