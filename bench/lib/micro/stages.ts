import { randomUUID } from 'node:crypto';
import { createCompanyReader } from '../../../src/companies/lookup/store.ts';
import { normalizeName } from '../../../src/companies/name.ts';
import { createElasticsearchSearch } from '../../../src/companies/search/elasticsearch.ts';
import { parseQuery } from '../../../src/companies/search/query.ts';
import { entryOf } from '../../../src/metering/credits/activity.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { connectRedis, createRedisRateLimiter } from '../../../src/metering/rate-limit/redis.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';
import { generateCompany } from '../names.ts';
import type { StoreProcesses } from '../processes.ts';
import type { Stack } from '../stack.ts';

/** One of the service's questions to a store, asked by the service's own module. */
export interface Stage {
  name: string;
  store: keyof StoreProcesses;
  /** Items in one batch at most. */
  maxItems: number;
  /** Asks for one item. Items that are asked for in one turn of the event loop share a batch. */
  ask(position: number): Promise<unknown>;
}

const LIMIT = 10_000_000;
const DAY_S = 86_400;
const DISTINCT_QUERIES = 50_000;

/** @param companies in the directory, all with a stored record */
export async function openStages(
  { sql, environment, alias }: Stack,
  companies: number,
): Promise<{ stages: Stage[]; close(): Promise<unknown> }> {
  const pointQueries = connectPostgres(environment.DATABASE_URL!, { max: 2, pointQueries: true });
  const redis = connectRedis(environment.REDIS_URL!);
  await new Promise((resolve) => redis.once('ready', resolve));
  const client = createElasticsearch({
    elasticsearchUrl: environment.ELASTICSEARCH_URL!,
    elasticsearchApiKey: null,
  });
  // Accounts without an allowance would be charged by the longer statement.
  const accounts = await sql<
    { id: string }[]
  >`SELECT account_id AS id FROM balances WHERE included_credits > 0`;
  const account = (position: number) => accounts[position % accounts.length]!.id;
  const limiter = createRedisRateLimiter(redis);
  const credits = createCredits(pointQueries);
  const { findCompany } = createCompanyReader(pointQueries, 6 * DAY_S);
  const search = createElasticsearchSearch(client!, alias);
  const queries = Array.from({ length: DISTINCT_QUERIES }, (_, index) => {
    const { name } = generateCompany((index * 7919) % companies);
    return parseQuery(normalizeName(name).slice(0, 1 + (index % 24)));
  });
  const stages: Stage[] = [
    {
      name: 'bucket',
      store: 'redis',
      maxItems: 500,
      ask: (position) => limiter.take(account(position), LIMIT),
    },
    {
      name: 'credit',
      store: 'postgres',
      maxItems: 500,
      ask: (position) => {
        const callId = randomUUID();
        const activity = entryOf({ callId, requestId: callId, endpoint: 'GET /companies/{nif}' });
        return credits.charge({
          accountId: account(position),
          keyId: '',
          kind: 'lookup',
          credits: 1,
          activity,
        });
      },
    },
    {
      name: 'record',
      store: 'postgres',
      maxItems: 500,
      ask: (position) => findCompany(generateCompany((position * 7919) % companies).nif),
    },
    {
      name: 'search',
      store: 'elasticsearch',
      maxItems: 32,
      ask: (position) => search.find(queries[position % queries.length]!),
    },
  ];
  const close = async () => {
    redis.disconnect();
    await Promise.all([credits.close(1000), pointQueries.end(), client!.close()]);
  };
  return { stages, close };
}
