import { normalizeName } from '../../src/companies/name.ts';
import type { SeededKeys } from '../seed.ts';
import { generateCompany, seededRandom } from './names.ts';
import { autocompleteQueries } from './traffic.ts';
import { get, post } from './wrk.ts';

/** One kind of load that two revisions are held against each other under. */
export interface ComparedScenario {
  name: string;
  /** The status of a right answer. */
  status: number;
  /** `true` means that each burst gets requests that no burst before it had. */
  fresh: boolean;
  /** Whole requests as they go over the wire; the same for both revisions, except for the keys. */
  requests(keys: SeededKeys): string[];
}

const DISTINCT_REQUESTS = 50_000;
/** Each is nearly 2 KB, and the load generator reads all of them first. */
const DISTINCT_BATCHES = 5000;
const NIFS_PER_BATCH = 100;
/** Enough for eight bursts of 5 s. */
const TYPED = 400_000;

/** @param companies in the directory @param records of companies with stored details */
export function comparedScenarios(companies: number, records: number): ComparedScenario[] {
  const lookups = (keys: string[]) =>
    drawn((random) =>
      call(`/companies/${generateCompany(Math.floor(random() * records)).nif}`, keys, random),
    );
  return [
    {
      name: 'lookups',
      status: 200,
      fresh: false,
      requests: ({ rich }) => lookups(rich),
    },
    {
      name: 'batches',
      status: 200,
      fresh: false,
      requests: ({ rich }) => batches(records, rich),
    },
    {
      name: 'searches',
      status: 200,
      fresh: true,
      requests: ({ rich }) => searches(companies, rich),
    },
    // Wants `--cache 64`, the service's default.
    {
      name: 'autocompletes',
      status: 200,
      fresh: true,
      requests: ({ rich }) => autocompletes(companies, rich),
    },
    {
      name: 'limited',
      status: 429,
      fresh: false,
      requests: ({ limited }) => lookups(limited),
    },
    {
      name: 'exhausted',
      status: 429,
      fresh: false,
      requests: ({ exhausted }) => lookups(exhausted),
    },
    {
      name: 'usage',
      status: 200,
      fresh: false,
      requests: ({ rich }) => drawn((random) => call('/usage', rich, random)),
    },
    {
      name: 'hot',
      status: 200,
      fresh: false,
      requests: ({ rich }) => lookups(rich.slice(0, 1)),
    },
  ];
}

function drawn(one: (random: () => number) => string): string[] {
  const random = seededRandom(3);
  return Array.from({ length: DISTINCT_REQUESTS }, () => one(random));
}

function call(path: string, keys: string[], random: () => number): string {
  return get(`/api/v1${path}`, 'bench', keys[Math.floor(random() * keys.length)]);
}

/** Lookups of 100 NIFs. */
function batches(records: number, keys: string[]): string[] {
  const random = seededRandom(3);
  const any = (size: number) => Math.floor(random() * size);
  return Array.from({ length: DISTINCT_BATCHES }, () => {
    const nifs = Array.from({ length: NIFS_PER_BATCH }, () => generateCompany(any(records)).nif);
    return post('/api/v1/lookups', 'bench', JSON.stringify({ nifs }), keys[any(keys.length)]!);
  });
}

/** Beginnings of at least four characters of the companies' names, none of them twice. */
function searches(companies: number, keys: string[]): string[] {
  const random = seededRandom(7);
  const queries = new Set<string>();
  for (let index = 0; index < companies; index += 1) {
    const name = normalizeName(generateCompany(Math.floor(random() * companies)).name);
    const beginning = name.slice(0, 4 + Math.floor(random() * 20)).trim();
    queries.add(queries.has(beginning) ? name : beginning);
  }
  return [...queries].map((query) => call(`/companies?q=${encodeURIComponent(query)}`, keys, random));
}

function autocompletes(companies: number, keys: string[]): string[] {
  const random = seededRandom(3);
  return autocompleteQueries(companies, TYPED).map((query) =>
    call(`/companies?q=${encodeURIComponent(query)}`, keys, random),
  );
}
