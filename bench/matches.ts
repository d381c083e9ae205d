/**
 * `bun bench/matches.ts [--names 1000000] [--queries 300] [--csv FILE]`: how long one client waits for matches, by kind of query, in
 * Postgres and in Elasticsearch, and how large what they need is. The names are made like real ones (real-names.ts).
 *
 * Servers: those of the environment (TEST_…_URL), or started here with durable commits.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseMatchQuery, type WordsQuery } from '../src/companies/matches/matches-query.ts';
import { normalizeName } from '../src/companies/name.ts';
import type { Finder } from '../src/companies/search/search.ts';
import { createElasticsearch } from '../src/platform/elasticsearch/client.ts';
import { connectPostgres, type Sql } from '../src/platform/postgres/connect.ts';
import { startServers } from '../test/servers/servers.ts';
import { matchesOf } from '../test/support/search-entries.ts';
import { companies, type GeneratedCompany, seededRandom, shuffled } from './lib/names.ts';
import { createRealNames, EXAMPLES, readRows } from './lib/real-names.ts';
import { say } from './lib/say.ts';
import { createDatabase, removeData, runCommand, writeDirectory } from './lib/stack.ts';

const { values: options } = parseArgs({
  options: {
    names: { type: 'string', default: '1000000' },
    queries: { type: 'string', default: '300' },
    csv: { type: 'string', default: EXAMPLES },
  },
});
const PREFIX = 'bench-matches';
const FREQUENT = 100;
const SAMPLED = 50_000;

/** A tenth of the names has each of these words, and about three names have both. */
const [ONE, OTHER] = ['Aurora', 'Boreal'];

function addWords(company: GeneratedCompany, index: number, names: number): GeneratedCompany {
  const isBoth = index % Math.round(names / 3) === 7;
  const words = isBoth ? `${ONE} ${OTHER}` : [ONE, OTHER][index % 10];
  return words === undefined ? company : { ...company, name: company.name.replace(/ |$/, ` ${words} `) };
}

/** Queries of each kind, by its name. */
type Kinds = Record<string, () => string>;

function createKinds(nameOf: (index: number) => string, names: number): Kinds {
  const random = seededRandom(7);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  const words = () => normalizeName(nameOf(Math.floor(random() * names))).split(' ');
  const shuffled = (list: string[]) => list.toSorted(() => random() - 0.5);
  const counts = new Map<string, number>();
  for (let index = 0; index < SAMPLED; index += 1) {
    for (const word of new Set(words())) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const frequent = [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, FREQUENT)
    .map(([word]) => word);
  const some = (count: number) => shuffled(frequent).slice(0, count).join(' ');
  return {
    'a whole name': () => words().slice(0, 8).join(' '),
    'the last word of a name': () => words().at(-1)!,
    'two words, in any order': () => shuffled(words()).slice(0, 2).join(' '),
    'a word and a letter': () => `${pick(words())} ${pick(words())[0]}`,
    'one letter': () => pick(words())[0] ?? 'a',
    'eight words of several names': () => [words(), words(), words(), words()].flat().slice(0, 8).join(' '),
    sociedade: () => 'sociedade',
    de: () => 'de',
    'two frequent words that meet in three names': () => `${ONE} ${OTHER}`,
    'a frequent word': () => pick(frequent),
    'two frequent words': () => some(2),
    'three frequent words': () => some(3),
    'eight frequent words': () => some(8),
    'a frequent word and three letters': () => `${pick(frequent)} ${pick(words()).slice(0, 3)}`,
    'the beginning of a name, words in any order': () => {
      const text = shuffled(words()).join(' ');
      return text.slice(0, 1 + Math.floor(random() * text.length));
    },
  };
}

async function measure(mode: string, { find }: Finder<WordsQuery>, kinds: Kinds): Promise<void> {
  say(`\n| ${mode} | p50 | p99 | longest |\n| --- | --- | --- | --- |`);
  for (const [kind, one] of Object.entries(kinds)) {
    const latencies: number[] = [];
    while (latencies.length < Number(options.queries)) {
      const query = parseMatchQuery(one());
      if (query.kind !== 'words') continue;
      const startedAt = performance.now();
      await find(query);
      latencies.push(performance.now() - startedAt);
    }
    latencies.sort((a, b) => a - b);
    const at = (share: number) => latencies[Math.floor((latencies.length - 1) * share)]!.toFixed(1);
    say(`| ${kind} | ${at(0.5)} ms | ${at(0.99)} ms | ${at(1)} ms |`);
  }
}

/** The words' share of what a generation occupies in Postgres. */
async function sizesInPostgres(sql: Sql): Promise<string> {
  const [current] = await sql<{ table: string }[]>`
    SELECT table_name AS "table" FROM directory JOIN directory_generations ON directory_generations.id = current`;
  const { table } = current!;
  const [row] = await sql<{ words: number; others: number; rows: number }[]>`
    SELECT words, pg_indexes_size(${table}::regclass) - words AS others, pg_table_size(${table}::regclass) AS rows
    FROM pg_relation_size(${`${table}_words`}::regclass) AS words`;
  const { words, others, rows } = row!;
  return `words ${mb(words)}, other indexes ${mb(others)} (${percent(words, others)}), rows ${mb(rows)}`;
}

async function sizesInElasticsearch(url: string): Promise<string> {
  const answer = await fetch(`${url}/${PREFIX}-*/_disk_usage?run_expensive_tasks=true`, { method: 'POST' });
  const usage = (await answer.json()) as Record<
    string,
    { store_size_in_bytes: number; fields: Record<string, { total_in_bytes: number }> }
  >;
  const [index] = Object.entries(usage).flatMap(([name, of]) => (name === '_shards' ? [] : [of]));
  const words = Object.entries(index!.fields)
    .filter(([field]) => field.startsWith('normalized_name.words'))
    .reduce((sum, [, { total_in_bytes }]) => sum + total_in_bytes, 0);
  const others = index!.store_size_in_bytes - words;
  return `words ${mb(words)}, the rest of the index ${mb(others)} (${percent(words, others)})`;
}

const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
const percent = (part: number, whole: number) => `${Math.round((100 * part) / whole)}%`;

const servers = await startServers({ purpose: 'benchmarks', elasticsearchHeapMb: 2_048 });
const folder = await mkdtemp(join(tmpdir(), 'bench-matches-'));
const client = createElasticsearch({ ...servers, elasticsearchApiKey: null })!;
try {
  const names = Number(options.names);
  const realNameOf = createRealNames((await readRows(options.csv)).map(({ name }) => name));
  const nameOf = (index: number) => addWords(realNameOf(index), index, names);
  const kinds = createKinds((index) => nameOf(index).name, names);
  const file = join(folder, 'companies.csv');
  await writeDirectory(
    file,
    companies(names, (index) => nameOf(shuffled(index))),
  );
  for (const mode of ['Postgres', 'Elasticsearch'] as const) {
    const databaseUrl = await createDatabase(servers.postgresUrl);
    const environment = {
      DATABASE_URL: databaseUrl,
      ...(mode === 'Postgres'
        ? {}
        : { ELASTICSEARCH_URL: servers.elasticsearchUrl, ELASTICSEARCH_PREFIX: PREFIX }),
    };
    const startedAt = performance.now();
    await runCommand(['companies', 'import', file], environment);
    const seconds = (performance.now() - startedAt) / 1000;
    const sql = connectPostgres(databaseUrl, { max: 4, pointQueries: true });
    const sizes = await (mode === 'Postgres'
      ? sizesInPostgres(sql)
      : sizesInElasticsearch(servers.elasticsearchUrl));
    say(`\n${mode}, ${names} names: imported in ${seconds.toFixed(0)} s; ${sizes}`);
    await measure(mode, matchesOf(sql, mode === 'Postgres' ? null : client), kinds);
    await sql.end();
    await removeData(servers, databaseUrl, `${PREFIX}-`);
  }
} finally {
  await client.close();
  await rm(folder, { recursive: true, force: true });
  await servers.stop();
}
