/** Reading the answer to an `_msearch`. Any other answer is an error. */
import { afterAll, describe, expect, test } from 'bun:test';
import {
  directoryRow,
  readEntry,
  type SearchEntry,
  searchDocument,
} from '../../../src/companies/search/document.ts';
import {
  readOutcomes,
  SearchError,
  searchLines,
  sendSearches,
} from '../../../src/companies/search/msearch.ts';
import { type SearchAnswer, writeAnswer } from '../../../src/companies/search/search-schema.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { createSearchIndex, createTestIndexAlias } from '../../support/search-index.ts';
import { numbered, testEntries } from './entries.ts';

/** Names that look like the end of a text, of a hit or of an answer. */
const HOSTILE = [
  '"',
  '"]}',
  'A"]},{"_index":"x","sort":["b\\t500000000B"]}',
  '\\',
  '\\\\',
  'C:\\',
  'C:\\"',
  '\\t',
  'a\\t123456789b',
  '\\\\t123456789',
  '\\u0041',
  '","status":"active"}],"error":null}',
  '</script>\u2028\u2029\u007f\u0085',
  'Ação & Coração, Lda',
  '\u{1f600}\ufffd\ufeff',
  ']},"status":200}',
];

const entryOf = ({ nif, legalName }: SearchEntry) => searchDocument(directoryRow(nif, legalName)).entry;
const hit = (company: SearchEntry) => ({ sort: [entryOf(company)] });
const entries = [...testEntries(), ...numbered(800_000_000, HOSTILE)].map((company) =>
  readEntry(entryOf(company)),
);
const item = (found: SearchEntry[]) =>
  found.length === 0
    ? { timed_out: false, status: 200 }
    : { timed_out: false, hits: { hits: found.map(hit) }, status: 200 };
const entriesOf = (text: string, count: number) => readOutcomes(JSON.parse(text), count) as SearchEntry[][];

describe('an answer', () => {
  const groups = [entries.slice(0, 20), [], entries.slice(-HOSTILE.length), entries];

  test('is read in any form of its JSON: spaces, other members, another order', () => {
    const other = (found: SearchEntry[]) => ({
      took: 1,
      status: 200,
      hits: { total: 9, hits: found.map(hit) },
    });
    for (const text of [
      JSON.stringify({ responses: groups.map(item) }),
      JSON.stringify({ responses: groups.map(item) }, null, 1),
      JSON.stringify({ responses: groups.map(other) }),
    ]) {
      expect(entriesOf(text, groups.length)).toEqual(groups);
    }
  });

  test('with more or fewer searches than were asked is no answer', () => {
    const two = { responses: [item([]), item([])] };
    for (const count of [0, 1, 3]) expect(() => readOutcomes(two, count)).toThrow('every search');
    for (const page of ['', '<html>', {}, null, [], { responses: {} }, { responses: [null] }]) {
      expect(() => readOutcomes(page, 1)).toThrow('every search');
    }
  });

  test('whose hits are not sorted by an entry, or by more than it, is an error', () => {
    const sorted = (...sort: unknown[]) =>
      JSON.stringify({
        responses: [{ timed_out: false, hits: { hits: [{ sort }] }, status: 200 }],
      });
    for (const text of [
      sorted(),
      sorted(null),
      sorted(7),
      sorted('azul'),
      '{"responses":[{"status":200,"hits":{"hits":7}}]}',
      sorted('azul\t50000257Azul'),
      sorted('azul 500000257Azul', 'azul\t500000257Azul'),
    ]) {
      expect(() => readOutcomes(JSON.parse(text), 1)).toThrow('with directory entries');
    }
    // Two values are not taken for one name.
    expect(readOutcomes(JSON.parse(sorted('azul\t500000257Azul', 'x')), 1)).toEqual([
      [{ nif: '500000257', legalName: 'Azul', sortKey: 'azul' }],
    ]);
  });

  test('says which search failed, and why', () => {
    const text = JSON.stringify({
      responses: [
        item([entries[0]!]),
        { error: { type: 'index_not_found_exception' }, status: 404 },
        { timed_out: true, hits: { hits: [] }, status: 200 },
        {},
      ],
    });
    const [found, ...failed] = readOutcomes(JSON.parse(text), 4);
    expect(found).toEqual([entries[0]!]);
    expect(failed.every((outcome) => outcome instanceof SearchError)).toBe(true);
    expect(failed.map((outcome) => (outcome as SearchError).message)).toEqual([
      'Elasticsearch answered index_not_found_exception',
      'Elasticsearch answered too late',
      'Elasticsearch answered 0',
    ]);
    expect((failed[0] as SearchError).status).toBe(404);
  });
});

describe('Elasticsearch itself', () => {
  const client = createElasticsearch({
    elasticsearchUrl: elasticsearchUrl,
    elasticsearchApiKey: null,
  })!;
  const { alias, cleanup } = createTestIndexAlias();
  afterAll(async () => {
    await cleanup();
    await client.close();
  });

  test('answers every name as it is, and it is written as it is', async () => {
    await createSearchIndex(client, `${alias}-1`, entries);
    const searches = entries.map(({ nif }) => searchLines(`${alias}-1`, { term: { nif } }));
    const outcomes = await sendSearches(client, searches, 30_000);
    expect(outcomes).toEqual(entries.map((entry) => [entry]));
    const { data } = JSON.parse(writeAnswer(entries)) as SearchAnswer;
    expect(data.map(({ nif, legal_name }) => ({ nif, legalName: legal_name }))).toEqual(
      entries.map(({ nif, legalName }) => ({ nif, legalName })),
    );
  });
});
