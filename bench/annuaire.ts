/**
 * `bun bench/annuaire.ts [NAMES]`: matches beside the search of annuaire-entreprises.data.gouv.fr, which is rebuilt from its public
 * repositories (search-api, search-infra) on the same names in the same Elasticsearch. Both are asked for the last words of 1,000 names.
 *
 * Rebuilt is what a name reaches: scored queries for the exact name, for all words in it or over fields, and in a nested establishment,
 * each multiplied by the number of establishments; equal companies collapsed, and counted by a second query. Directors, addresses and
 * filters are left out. Stop words and stemmer are Portuguese, not French; `standard` and `asciifolding` stand in for the ICU plugin.
 */
import type { estypes } from '@elastic/elasticsearch';
import { createIndex } from '../src/companies/directory/indexing/indices.ts';
import { createElasticsearchMatches } from '../src/companies/matches/elasticsearch.ts';
import { MATCH_BATCHES } from '../src/companies/matches/matches.ts';
import { wordsQuery } from '../src/companies/matches/query.ts';
import { normalizeName } from '../src/companies/name.ts';
import { searchDocument } from '../src/companies/search/document.ts';
import { MAX_RESULTS } from '../src/companies/search/search.ts';
import { createElasticsearch } from '../src/platform/elasticsearch/client.ts';
import { startServers } from '../test/servers/servers.ts';
import { type GeneratedCompany, seededRandom } from './lib/names.ts';
import { createRealNames, EXAMPLES, readNames } from './lib/real-names.ts';

const NAMES = Number(process.argv[2] ?? 200_000);
const [QUERIES, WARM_UP, BULK] = [1_000, 300, 5_000];
const [OURS, REBUILT] = ['bench-annuaire-ours', 'bench-annuaire-rebuilt'];

const text = { type: 'text', analyzer: 'names', fields: { keyword: { type: 'keyword' } } } as const;
const establishments = { type: 'nested', properties: { name: text, sign: text } } as const;
const analysis = {
  filter: {
    stops: { type: 'stop', stopwords: '_portuguese_' },
    stem: { type: 'stemmer', language: 'minimal_portuguese' },
  },
  analyzer: {
    names: { type: 'custom', tokenizer: 'standard', filter: ['lowercase', 'stops', 'asciifolding', 'stem'] },
  },
} satisfies estypes.IndicesIndexSettingsAnalysis;
const properties = {
  nif: { type: 'keyword' },
  name: text,
  open: { type: 'integer' },
  establishments,
} as const;

function rebuiltQuery(query: string) {
  const exact = (field: string, boost: number) => ({
    match_phrase: { [`${field}.keyword`]: { query, boost } },
  });
  const all = (field: string, boost: number) => ({ match: { [field]: { query, operator: 'and', boost } } });
  const across = (fields: string[]) => ({
    multi_match: { query, fields, type: 'cross_fields', operator: 'and' },
  });
  const weighed = (one: object, factor: number) => ({
    function_score: {
      query: one,
      field_value_factor: { field: 'open', factor, modifier: 'log2p', missing: 1 },
    },
  });
  const path = 'establishments';
  const [ofName, ofSign] = [`${path}.name`, `${path}.sign`];
  const inPath = [exact(ofSign, 25), all(ofSign, 10), across([`${ofName}^15`, ofSign])];
  const nested = { path, query: { bool: { should: inPath } }, inner_hits: { size: 10 } };
  const queries = [weighed(exact('name', 100), 1000), weighed(all('name', 50), 1000)];
  return { bool: { should: [...queries, weighed(across(['name']), 10), weighed({ nested }, 1)] } };
}

const servers = await startServers({ purpose: 'benchmarks', elasticsearchHeapMb: 2_048 });
const client = createElasticsearch({ ...servers, elasticsearchApiKey: null })!;
const companyOf = createRealNames(await readNames(EXAMPLES));

async function fill(index: string, documentOf: (company: GeneratedCompany) => object): Promise<void> {
  for (let start = 0; start < NAMES; start += BULK) {
    const companies = Array.from({ length: Math.min(BULK, NAMES - start) }, (_, n) => companyOf(start + n));
    const operations = companies.flatMap((company) => [{ index: {} }, documentOf(company)]);
    const { errors } = await client.bulk({ index, operations });
    if (errors) throw new Error('Elasticsearch refused documents');
  }
  await client.indices.forcemerge({ index, max_num_segments: 1 });
  await client.indices.refresh({ index });
}

async function askRebuilt(body: object) {
  const answer = await fetch(`${servers.elasticsearchUrl}/${REBUILT}/_search`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as {
    hits: { total: { value: number }; hits: { _source: { nif: string } }[] };
  };
}

async function findRebuilt(word: string): Promise<string[]> {
  const query = rebuiltQuery(word);
  const sort = [{ _score: 'desc' }, { open: 'desc' }];
  const { hits } = await askRebuilt({ query, size: MAX_RESULTS, sort, collapse: { field: 'nif' } });
  const aggs = { companies: { cardinality: { field: 'nif' } } };
  if (hits.total.value < 10_000) await askRebuilt({ query, size: 0, aggs });
  return hits.hits.map(({ _source }) => _source.nif);
}

try {
  await createIndex(client, `${OURS}-1`, { directory: 'bench', generation: 0, fingerprint: '' });
  await client.indices.putAlias({ index: `${OURS}-1`, name: OURS });
  await client.indices.create({ index: REBUILT, settings: { analysis }, mappings: { properties } });
  const random = seededRandom(7);
  await fill(`${OURS}-1`, ({ nif, name }) => searchDocument(nif, name));
  const open = () => Math.ceil(1 / (0.01 + 0.99 * random()));
  const twice = ({ nif, name }: GeneratedCompany) => ({
    nif,
    name,
    open: open(),
    establishments: [{ name, sign: name }],
  });
  await fill(REBUILT, twice);

  const find = createElasticsearchMatches(client, OURS, MATCH_BATCHES.match);
  const findOurs = async (word: string) =>
    (await find(wordsQuery(word), MAX_RESULTS)).entries.map(({ nif }) => nif);
  const ways = Object.entries({ 'GET /matches': findOurs, 'the rebuilt search': findRebuilt });
  const seen = ways.map(([way, ask]) => ({ way, ask, something: 0, itself: 0, latencies: [] as number[] }));
  for (let query = -WARM_UP; query < QUERIES; query += 1) {
    const { nif, name } = companyOf(Math.floor(random() * NAMES));
    const word = normalizeName(name).split(' ').at(-1)!;
    for (const one of seen) {
      const startedAt = performance.now();
      const nifs = await one.ask(word);
      if (query < 0) continue;
      one.latencies.push(performance.now() - startedAt);
      one.something += Number(nifs.length > 0);
      one.itself += Number(nifs.includes(nif));
    }
  }
  for (const { way, something, itself, latencies } of seen) {
    const at = (share: number) =>
      latencies.toSorted((a, b) => a - b)[Math.floor(QUERIES * share)]!.toFixed(1);
    process.stdout.write(`| ${way} | ${something} | ${itself} | ${at(0.5)} ms | ${at(0.99)} ms |\n`);
  }
} finally {
  await client.indices.delete({ index: [`${OURS}-1`, REBUILT], ignore_unavailable: true });
  await client.close();
  await servers.stop();
}
