/**
 * `bun bench/resolve.ts [--names 1000000] [--directory FILE.csv] [--pairs FILE.json] [--strangers FILE.json] [--database URL --prefix NAME]`:
 * how well names as people write them are resolved, and what they cost in CPU, with Postgres alone and with Elasticsearch.
 *
 * The directory is that of the tests, or a file, and names that are made like its own (real-names.ts) up to `--names`. Pairs are
 * `{"nif", "written"}`, strangers the same or texts. Near names and absent ones, of which none may be clear, are made from the directory
 * (name-sets.ts); for the absent ones it is imported without every second of its names. `--database` and `--prefix` have the names already, and stay.
 * Servers: those of the environment (TEST_…_URL), or started here with durable commits. CPU of Elasticsearch is not measured.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSearchIndexes } from '../src/companies/directory/tables.ts';
import { NAMES_AT_ONCE, type Resolution, resolveNames } from '../src/companies/resolve/resolve.ts';
import type { WithReader } from '../src/companies/resolve/resolve-reader.ts';
import { vocabularyOf, vocabularyStatements } from '../src/companies/resolve/vocabulary-table.ts';
import { createElasticsearch } from '../src/platform/elasticsearch/client.ts';
import { connectPostgres } from '../src/platform/postgres/connect.ts';
import { withTimeout } from '../src/platform/runtime/timeout.ts';
import real from '../test/companies/resolve/real-names.json' with { type: 'json' };
import { startServers } from '../test/servers/servers.ts';
import { readerOf } from '../test/support/search-entries.ts';
import { halfOf, heavyWords, NEAR_KINDS, nearNames } from './lib/name-sets.ts';
import { companies, type GeneratedCompany, shuffled } from './lib/names.ts';
import { cpuSeconds } from './lib/processes.ts';
import { createRealNames, readRows } from './lib/real-names.ts';
import { say } from './lib/say.ts';
import { createDatabase, removeData, runCommand, writeDirectory } from './lib/stack.ts';

const { values: options } = parseArgs({
  options: {
    names: { type: 'string', default: '1000000' },
    directory: { type: 'string' },
    pairs: { type: 'string' },
    strangers: { type: 'string' },
    database: { type: 'string' },
    prefix: { type: 'string', default: 'bench-resolve' },
  },
});
const LIST = 100;
/** Wrong names that are printed. */
const MAX_TOLD = 10;
const PATIENCE_MS = 60_000;

type Written = { nif: string; written: string };
const readJson = async <T>(path: string | undefined, otherwise: T): Promise<T> =>
  path === undefined ? otherwise : ((await Bun.file(path).json()) as T);
const pairs = await readJson<Written[]>(options.pairs, real.spellings);
const strangers = (await readJson<(string | Written)[]>(options.strangers, real.strangers)).map((one) =>
  typeof one === 'string' ? one : one.written,
);

const servers = await startServers({ purpose: 'benchmarks', elasticsearchHeapMb: 2_048 });
const folder = await mkdtemp(join(tmpdir(), 'bench-resolve-'));
const elasticsearch = createElasticsearch({ ...servers, elasticsearchApiKey: null })!;
const databaseUrl = options.database ?? (await createDatabase(servers.postgresUrl));
const sql = connectPostgres(databaseUrl, { max: 1, pointQueries: true });
try {
  const own = await ownRows();
  if (options.database === undefined) await importRows(own);
  const [{ table, rows }] = await sql<[{ table: string; rows: number }]>`
    SELECT table_name AS "table", rows FROM directory JOIN directory_generations ON directory_generations.id = current`;
  await measureVocabulary(table);
  const [{ pid }] = await sql<[{ pid: number }]>`SELECT pg_backend_pid() AS pid`;
  say(`\n${rows} names, ${pairs.length} pairs, ${strangers.length} strangers\n`);
  say('| | first | among 5 | clear, right | strangers shown, clear | CPU a name, ms: Postgres, service |');
  say('| --- | --- | --- | --- | --- | --- |');
  const answers: string[] = [];
  const readers = Object.entries({
    Postgres: readerOf(sql),
    Elasticsearch: readerOf(sql, elasticsearch),
  });
  const names = own.map(({ name }) => name);
  for (const [mode, withReader] of readers) {
    answers.push(await measureQuality(mode, withReader, pid));
    for (const kind of NEAR_KINDS)
      await measureNone(`near names, ${kind}`, withReader, nearNames(names, kind));
    await measureWorst(withReader, pid, table);
  }
  say(`\nboth modes ${answers[0] === answers[1] ? 'give the same answers' : 'DIFFER'}`);
  if (options.database === undefined) {
    const { kept, absent } = halfOf(own, ({ name }) => name);
    await importRows(kept);
    say('\nwithout every second name');
    for (const [, withReader] of readers) await measureNone('absent names', withReader, absent);
  }
} finally {
  await sql.end();
  await elasticsearch.close();
  if (options.database === undefined) await removeData(servers, databaseUrl, `${options.prefix}-`);
  await rm(folder, { recursive: true, force: true });
  await servers.stop();
}

/** The rows of the directory file, or of that of the tests. */
async function ownRows(): Promise<GeneratedCompany[]> {
  if (options.directory === undefined)
    return real.directory.map(([nif, name]) => ({ nif: nif!, name: name! }));
  return readRows(options.directory);
}

/** Imports rows, and names that are made like them up to `--names`. None is a name that a row has or that is asked for. */
async function importRows(rows: GeneratedCompany[]): Promise<void> {
  const taken = new Set(
    [...rows.map(({ name }) => name), ...pairs.map(({ written }) => written)].map(heavyWords),
  );
  const make = createRealNames(rows.map(({ name }) => name));
  const file = join(folder, `${rows.length}-companies.csv`);
  const makeOther = (index: number) => {
    const made = make(shuffled(index));
    for (let other = shuffled(index); taken.has(heavyWords(made.name)); made.name = make(other).name)
      other += 1_000_003;
    return made;
  };
  const made = companies(Number(options.names) - rows.length, makeOther);
  await writeDirectory(file, both(rows, made));
  const startedMs = performance.now();
  await runCommand(['companies', 'import', file, '--replace', '--force'], {
    DATABASE_URL: databaseUrl,
    ELASTICSEARCH_URL: servers.elasticsearchUrl,
    ELASTICSEARCH_PREFIX: options.prefix,
  });
  say(`imported in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
  const [{ table }] = await sql<[{ table: string }]>`
    SELECT table_name AS "table" FROM directory JOIN directory_generations ON directory_generations.id = current`;
  const builder = connectPostgres(databaseUrl, { max: 1 });
  await buildSearchIndexes(builder, table);
  await builder.end();
}

function* both<T>(first: Iterable<T>, second: Iterable<T>): Generator<T> {
  yield* first;
  yield* second;
}

/** How long the vocabulary takes, by making it once more, and how large it is. */
async function measureVocabulary(table: string): Promise<void> {
  const builder = connectPostgres(databaseUrl, { max: 1 });
  const copy = 'bench_names';
  const size = 'pg_total_relation_size($1::regclass) AS bytes';
  await builder.unsafe(`DROP VIEW IF EXISTS ${copy}; CREATE VIEW ${copy} AS SELECT * FROM ${table}`);
  const [{ pid }] = await builder<[{ pid: number }]>`SELECT pg_backend_pid() AS pid`;
  const startedMs = performance.now();
  const before = cpuSeconds([pid]);
  for (const statement of vocabularyStatements(copy)) await builder.unsafe(statement);
  const seconds = (performance.now() - startedMs) / 1000;
  const [row] = await builder.unsafe<{ bytes: number }[]>(`SELECT ${size}`, [vocabularyOf(table)]);
  const cpu = (cpuSeconds([pid]) - before).toFixed(1);
  say(`vocabulary: ${seconds.toFixed(1)} s (${cpu} s of CPU), ${(row!.bytes / 1e6).toFixed(0)} MB`);
  await builder.unsafe(`DROP TABLE ${vocabularyOf(copy)}; DROP VIEW ${copy}`);
  await builder.end();
}

async function resolveList(withReader: WithReader, names: string[]): Promise<Resolution[]> {
  const resolutions: Resolution[] = [];
  for (let from = 0; from < names.length; from += NAMES_AT_ONCE) {
    const group = names.slice(from, from + NAMES_AT_ONCE);
    const resolve = withTimeout(
      withReader((reader) => resolveNames(reader, group)),
      PATIENCE_MS,
      'the directory',
    );
    resolutions.push(...(await resolve));
  }
  return resolutions;
}

/** CPU of this process and of one of Postgres, ms a name. */
async function costOf(names: number, pid: number, work: () => Promise<unknown>): Promise<string> {
  const [before, own] = [cpuSeconds([pid]), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(own);
  const ofPostgres = ((cpuSeconds([pid]) - before) * 1000) / names;
  return `${ofPostgres.toFixed(1)}, ${((user + system) / 1000 / names).toFixed(1)}`;
}

async function measureQuality(mode: string, withReader: WithReader, pid: number): Promise<string> {
  const names = [...pairs.map(({ written }) => written), ...strangers];
  // The first run learns the generation, and compiles.
  await resolveList(withReader, names.slice(0, LIST));
  const found: Resolution[] = [];
  const cost = await costOf(names.length, pid, async () => {
    for (let from = 0; from < names.length; from += LIST)
      found.push(...(await resolveList(withReader, names.slice(from, from + LIST))));
  });
  const nifsOf = ({ candidates }: Resolution) => candidates.map(({ nif }) => nif);
  const count = (test: (one: Resolution, nif: string) => boolean) =>
    pairs.filter(({ nif }, at) => test(found[at]!, nif)).length;
  const isFirst = (one: Resolution, nif: string) => nifsOf(one)[0] === nif;
  const clear = count(({ clear }) => clear);
  const right = count((one, nif) => one.clear && isFirst(one, nif));
  const ofStrangers = found.slice(pairs.length);
  const shown = ofStrangers.filter(({ candidates }) => candidates.length > 0).length;
  const wrong = ofStrangers.filter((one) => one.clear).length;
  const five = count((one, nif) => nifsOf(one).includes(nif));
  say(`| ${mode} | ${count(isFirst)} | ${five} | ${clear}, ${right} | ${shown}, ${wrong} | ${cost} |`);
  return JSON.stringify(
    found.map(({ clear, candidates }) => [clear, candidates.map((one) => [one.nif, one.evidence])]),
  );
}

/** How many of some names that the directory lacks have a candidate, and are clear. */
async function measureNone(kind: string, withReader: WithReader, names: string[]): Promise<void> {
  const found: Resolution[] = [];
  for (let from = 0; from < names.length; from += LIST)
    found.push(...(await resolveList(withReader, names.slice(from, from + LIST))));
  const shown = found.filter(({ candidates }) => candidates.length > 0).length;
  const clear = found.flatMap((one, at) =>
    one.clear ? [`"${names[at]}" is "${one.candidates[0]!.legalName}"`] : [],
  );
  const alike = found.filter(({ clear, candidates: [first] }) => clear && first!.extra === 0).length;
  say(
    `| ${names.length} ${kind} | shown ${shown} | clear ${clear.length} | of these with no extra word ${alike} |`,
  );
  for (const one of clear.slice(0, MAX_TOLD)) say(`  ${one}`);
}

/** Names that cost the most: frequent words meet in many entries, and unknown ones have near words. */
async function worstNames(table: string): Promise<Record<string, string>> {
  const words = await sql.unsafe<{ word: string }[]>(
    `SELECT word FROM ${vocabularyOf(table)} WHERE char_length(word) > 4 ORDER BY entries DESC LIMIT 60`,
  );
  const frequent = words.map(({ word }) => word);
  const unknown = 'zqxwvutk yqxwvutk zqxwyutk yqxwyutk zqxwvuuk zqywvutk wqxwvutk zqxwvutm zqpwvutk zaxwvutk';
  return {
    'eight frequent words': frequent.slice(0, 8).join(' '),
    'eight frequent words and an unknown one': `${frequent.slice(8, 16).join(' ')} zqxwvutk`,
    'ten unknown words': unknown,
    '500 characters of frequent words': frequent.join(' ').slice(0, 500),
    '500 characters of one word': 'construcoes'.repeat(50).slice(0, 500),
    '500 characters of letters': 'a b c f g h i j k l m n '.repeat(21).slice(0, 500),
  };
}

async function measureWorst(withReader: WithReader, pid: number, table: string): Promise<void> {
  for (const [kind, name] of Object.entries(await worstNames(table))) {
    await resolveList(withReader, [name]);
    const times = 20;
    const cost = await costOf(times, pid, async () => {
      for (let time = 0; time < times; time += 1) await resolveList(withReader, [name]);
    });
    say(`| ${kind} | | | | | ${cost} |`);
  }
}
