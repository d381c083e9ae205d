import { normalizeName } from '../../src/companies/name.ts';
import { readEntry } from '../../src/companies/search/document.ts';
import { HIT_PATHS, prefixFilter, searchBody } from '../../src/companies/search/msearch.ts';
import { generateCompany, seededRandom } from './names.ts';
import type { Service, Stack } from './stack.ts';
import { autocompleteQueries, randomPrefixes } from './traffic.ts';
import { get, post, type Target } from './wrk.ts';

export type ScenarioName =
  | 'the load generator’s ceiling'
  | 'bare Elysia route'
  | 'Elasticsearch asked directly'
  | 'search, random prefixes, no cache'
  | 'search, autocomplete'
  | 'match, a name'
  | 'match, 100 names a request'
  | 'lookup, the prototype'
  | 'lookup'
  | 'lookup, one hot account'
  | 'lookup, 100 NIFs a request'
  | 'debts, 1,000 NIFs a request'
  | 'usage';

export interface Scenario {
  name: ScenarioName;
  /** Which process answers. */
  on: 'ceiling' | 'bare' | 'prototype' | 'elasticsearch' | 'uncached' | 'cached';
  /** The scenario that this one's rate is divided by. */
  against: ScenarioName | null;
  /** Companies or names in one request, by default 1. For the ratio its rate is multiplied by them. */
  companiesPerRequest?: number;
  /** The most connections for it. The estimate of load counts a batch as many requests, so with more some would be refused. */
  mostConnections?: number;
  requests: string[];
}

const DISTINCT_REQUESTS = 100_000;
/** Each is nearly 2 KB, and the load generator reads all of them first. */
const DISTINCT_BATCHES = 5000;
const MOST_BATCHES_AT_ONCE = 16;
const NIFS_PER_BATCH = 100;
const NAMES_PER_BATCH = 100;
/** Each is 12 KB. */
const DISTINCT_LISTS = 500;
const NIFS_PER_LIST = 1000;

/** Every row of the table. */
export function createScenarios(stack: Stack, companies: number, records: number): Scenario[] {
  const random = seededRandom(3);
  const anyKey = () => stack.keys[Math.floor(random() * stack.keys.length)]!;
  const call = (path: string, key: string) => get(`/api/v1${path}`, 'bench', key);
  const search = (query: string) => call(`/companies?q=${encodeURIComponent(query)}`, anyKey());
  const anyNif = () => generateCompany(Math.floor(random() * records)).nif;
  const anyName = () => generateCompany(Math.floor(random() * companies)).name;
  const many = (one: () => string) => Array.from({ length: DISTINCT_REQUESTS }, one);
  const lookups = many(() => call(`/companies/${anyNif()}`, anyKey()));
  const list = (path: string, length: number) => () => {
    const nifs = Array.from({ length }, anyNif);
    return post(`/api/v1${path}`, 'bench', JSON.stringify({ nifs }), anyKey());
  };
  const prefixes = randomPrefixes(companies, DISTINCT_REQUESTS);
  return [
    { name: 'the load generator’s ceiling', on: 'ceiling', against: null, requests: [get('/', 'bench')] },
    { name: 'bare Elysia route', on: 'bare', against: null, requests: [get('/', 'bench')] },
    {
      name: 'Elasticsearch asked directly',
      on: 'elasticsearch',
      against: null,
      requests: prefixes.map((prefix) => directSearch(stack.alias, prefix)),
    },
    {
      name: 'search, random prefixes, no cache',
      on: 'uncached',
      against: 'Elasticsearch asked directly',
      requests: prefixes.map(search),
    },
    {
      name: 'search, autocomplete',
      on: 'cached',
      against: 'Elasticsearch asked directly',
      requests: autocompleteQueries(companies, 5 * DISTINCT_REQUESTS).map(search),
    },
    {
      name: 'match, a name',
      on: 'uncached',
      against: 'search, random prefixes, no cache',
      requests: many(() => call(`/matches?q=${encodeURIComponent(anyName())}`, anyKey())),
    },
    {
      name: 'match, 100 names a request',
      on: 'uncached',
      against: 'match, a name',
      companiesPerRequest: NAMES_PER_BATCH,
      mostConnections: MOST_BATCHES_AT_ONCE,
      requests: Array.from({ length: DISTINCT_BATCHES }, () => {
        const queries = Array.from({ length: NAMES_PER_BATCH }, anyName);
        return post('/api/v1/matches', 'bench', JSON.stringify({ queries }), anyKey());
      }),
    },
    { name: 'lookup, the prototype', on: 'prototype', against: 'bare Elysia route', requests: lookups },
    { name: 'lookup', on: 'cached', against: 'bare Elysia route', requests: lookups },
    {
      name: 'lookup, one hot account',
      on: 'cached',
      against: 'lookup',
      requests: many(() => call(`/companies/${anyNif()}`, stack.keys[0]!)),
    },
    {
      name: 'lookup, 100 NIFs a request',
      on: 'cached',
      against: 'lookup',
      companiesPerRequest: NIFS_PER_BATCH,
      mostConnections: MOST_BATCHES_AT_ONCE,
      requests: Array.from({ length: DISTINCT_BATCHES }, list('/lookups', NIFS_PER_BATCH)),
    },
    {
      name: 'debts, 1,000 NIFs a request',
      on: 'cached',
      against: 'lookup',
      companiesPerRequest: NIFS_PER_LIST,
      mostConnections: MOST_BATCHES_AT_ONCE,
      requests: Array.from({ length: DISTINCT_LISTS }, list('/debts', NIFS_PER_LIST)),
    },
    {
      name: 'usage',
      on: 'cached',
      against: 'bare Elysia route',
      requests: many(() => call('/usage', anyKey())),
    },
  ];
}

/** The service's own query for a prefix, as one `_search` that answers what the service reads. */
function directSearch(alias: string, prefix: string): string {
  const { path, body } = directQuery(alias, prefix);
  return post(path, 'bench', body);
}

function directQuery(alias: string, prefix: string): { path: string; body: string } {
  const path = `/${alias}/_search?filter_path=${HIT_PATHS.join(',')}`;
  return { path, body: JSON.stringify(searchBody(prefixFilter(prefix))) };
}

/** Checks that the direct query finds the company, because the service's searches are compared with it. @throws if it doesn't */
export async function checkDirectSearch({ servers, alias }: Stack): Promise<void> {
  const prefix = normalizeName(generateCompany(0).name).slice(0, 12);
  const { path, body } = directQuery(alias, prefix);
  const answer = await fetch(servers.elasticsearchUrl + path, {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json' },
  });
  const { hits } = (await answer.json()) as { hits: { hits: { sort: [string] }[] } };
  const entries = hits.hits.map(({ sort }) => readEntry(sort[0]));
  if (
    entries.length === 0 ||
    !entries.every(({ legalName }) => normalizeName(legalName).startsWith(prefix))
  ) {
    throw new Error('Elasticsearch asked directly does not answer what the service would');
  }
}

/** Where a scenario's requests go. */
export function targetOf(
  scenario: Scenario,
  stack: Stack,
  services: Record<Exclude<Scenario['on'], 'elasticsearch'>, Service>,
): Target {
  if (scenario.on !== 'elasticsearch') return { ...services[scenario.on], requests: scenario.requests };
  const { hostname, port } = new URL(stack.servers.elasticsearchUrl);
  return { host: hostname, port: Number(port), requests: scenario.requests };
}
