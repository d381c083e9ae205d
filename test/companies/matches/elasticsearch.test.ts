/** Matches by Elasticsearch while the alias moves, and with an index that can't answer. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { type Client, errors } from '@elastic/elasticsearch';
import { createElasticsearchMatches } from '../../../src/companies/matches/elasticsearch.ts';
import { MATCH_BATCHES } from '../../../src/companies/matches/matches.ts';
import { createCurrentIndex, NoIndexError } from '../../../src/companies/search/current-index.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { NoAnswerError, OverloadedError } from '../../../src/platform/runtime/timeout.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { readDuring } from '../../support/read-during.ts';
import { createSearchIndex, createTestIndexAlias, makeIndexCurrent } from '../../support/search-index.ts';
import { numbered } from '../search/entries.ts';
import { matchEntries, swappedDirectories } from './support.ts';

let client: Client;
let database: TestDatabase;
let alias: string;
let cleanup: () => Promise<void>;
beforeAll(() => {
  client = createElasticsearch({ elasticsearchUrl, elasticsearchApiKey: null })!;
});
afterAll(() => client.close());
beforeEach(async () => {
  ({ alias, cleanup } = createTestIndexAlias());
  database = await createTestDatabase('search');
});
afterEach(async () => {
  await cleanup();
  await database.drop();
});

test('no index, and a closed one: the query fails, it does not find nothing', async () => {
  const find = createElasticsearchMatches(client, createCurrentIndex(client, database.sql), MATCH_BATCHES);
  await database.sql`UPDATE directory_generations SET rows = 1`;
  await expect(matchEntries(find, 'azul')).rejects.toBeInstanceOf(NoIndexError);
  await createSearchIndex(client, `${alias}-1`, numbered(500_000_000, ['Mar Azul']));
  await makeIndexCurrent(client, database.sql, `${alias}-1`);
  expect(await matchEntries(find, 'azul')).toHaveLength(1);
  await client.indices.close({ index: `${alias}-1` });
  await expect(matchEntries(find, 'azul')).rejects.toThrow();
});

/** On a busy machine an index that is created holds searches up beyond their time. Every other failure counts. */
function orTooLate(error: unknown): null {
  if ([errors.TimeoutError, NoAnswerError, OverloadedError].some((kind) => error instanceof kind))
    return null;
  throw error;
}

test('while the directory is replaced and old indices go, every answer is of one index as a whole', async () => {
  const { directories, queries, allowed } = swappedDirectories();
  await createSearchIndex(client, `${alias}-0`, directories[0]!);
  await makeIndexCurrent(client, database.sql, `${alias}-0`);
  const seen = new Set<number>();
  const openReader = () => {
    // Each stands for an instance of the service, which learns of the move by itself.
    const find = createElasticsearchMatches(client, createCurrentIndex(client, database.sql), MATCH_BATCHES);
    return async () => {
      const answers = await Promise.all(queries.map((q) => matchEntries(find, q).catch(orTooLate)));
      for (const [i, answer] of answers.entries()) {
        if (answer === null) continue;
        const from = allowed[i]!.indexOf(JSON.stringify(answer));
        expect([queries[i], from >= 0]).toEqual([queries[i], true]);
        if (i === 0) seen.add(from);
      }
    };
  };
  const move = async () => {
    for (let move = 1; move <= 6; move += 1) {
      await createSearchIndex(client, `${alias}-${move}`, directories[move % 2]!);
      await makeIndexCurrent(client, database.sql, `${alias}-${move}`);
      await client.indices.delete({ index: `${alias}-${move - 1}` });
    }
  };
  await readDuring(move, openReader);
  expect([...seen].sort()).toEqual([0, 1]);
});
