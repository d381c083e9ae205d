/** Answers kept in memory: how many, and when they are given. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Client } from '@elastic/elasticsearch';
import { type AnswerSearch, answerCached, keyOfSearch } from '../../../src/companies/search/answer.ts';
import { type AnswerCache, createAnswerCache } from '../../../src/companies/search/answer-cache.ts';
import { createElasticsearchSearch } from '../../../src/companies/search/elasticsearch.ts';
import { parseQuery } from '../../../src/companies/search/query.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';
import { createSearchIndex, createTestIndexAlias, pointAlias } from '../../support/search-index.ts';
import { numbered } from './entries.ts';

describe('the cache', () => {
  test('gives what was set under the same index and query, and nothing else', () => {
    const cache = createAnswerCache(10_000);
    cache.set('one', 'azul', 'A');
    expect(cache.get('one', 'azul')).toBe('A');
    expect(cache.get('one', 'azu')).toBeNull();
    expect(cache.get('two', 'azul')).toBeNull();
    expect([cache.hits, cache.misses]).toEqual([1, 2]);
  });

  test('holds one index: the answers of the one before are gone', () => {
    const cache = createAnswerCache(10_000);
    cache.set('one', 'azul', 'A');
    cache.set('two', 'verde', 'V');
    expect(cache.get('one', 'azul')).toBeNull();
    expect(cache.get('two', 'azul')).toBeNull();
    expect(cache.get('two', 'verde')).toBe('V');
  });

  test('stays below its bound, and lets go of what was used longest ago', () => {
    const cache = createAnswerCache(10_000);
    for (let number = 0; number < 100; number += 1) {
      cache.set('one', `query ${number}`, 'x'.repeat(1000));
      expect(cache.bytes).toBeLessThanOrEqual(10_000);
      cache.get('one', 'query 0');
    }
    expect(cache.get('one', 'query 0')).not.toBeNull();
    expect(cache.get('one', 'query 99')).not.toBeNull();
    expect(cache.get('one', 'query 50')).toBeNull();
  });

  test('does not keep an answer larger than itself, and counts a replaced one once', () => {
    const cache = createAnswerCache(10_000);
    cache.set('one', 'azul', 'x'.repeat(6000));
    expect(cache.get('one', 'azul')).toBeNull();
    cache.set('one', 'azul', 'x'.repeat(1000));
    const { bytes } = cache;
    cache.set('one', 'azul', 'y'.repeat(1000));
    expect(cache.bytes).toBe(bytes);
  });
});

describe('cached answers', () => {
  let client: Client;
  let proxied: Client;
  let proxy: TcpProxy;
  let alias: string;
  let cleanup: () => Promise<void>;
  let cache: AnswerCache;
  let nowMs: number;
  let current: string | null;
  let answer: AnswerSearch;

  beforeAll(async () => {
    client = createElasticsearch({ elasticsearchUrl, elasticsearchApiKey: null })!;
    proxy = await startProxy(elasticsearchUrl);
    proxied = createElasticsearch({
      elasticsearchUrl: proxy.url(elasticsearchUrl),
      elasticsearchApiKey: null,
    })!;
  });
  afterAll(async () => {
    await proxied.close();
    await proxy.close();
    await client.close();
  });
  beforeEach(async () => {
    ({ alias, cleanup } = createTestIndexAlias());
    await createSearchIndex(client, `${alias}-1`, numbered(500_000_000, ['Azul, Lda', 'Verde']));
    await createSearchIndex(client, `${alias}-2`, numbered(500_000_000, ['Azul Novo, Lda', 'Verde']));
    await pointAlias(client, alias, `${alias}-1`);
    cache = createAnswerCache(1_000_000);
    nowMs = 0;
    answer = answerCached(
      createElasticsearchSearch(proxied, alias),
      keyOfSearch,
      cache,
      () => current,
      () => nowMs,
    );
  });
  afterEach(() => {
    proxy.up();
    return cleanup();
  });

  const namesOf = (json: string) =>
    (JSON.parse(json) as { data: { legal_name: string }[] }).data.map((entry) => entry.legal_name);
  const ask = async (q: string, index: string | null) => {
    current = index;
    return namesOf(await answer(parseQuery(q)));
  };

  test('a query asked again is answered without Elasticsearch, word for word', async () => {
    current = `${alias}-1`;
    const first = await answer(parseQuery('azul'));
    const second = await answer(parseQuery('AZÚL, Lda.'));
    expect(second).toBe(first);
    expect(cache.hits).toBe(1);
  });

  test('the moment another index is current its answers are given, and after a rollback the old ones', async () => {
    expect(await ask('azul', `${alias}-1`)).toEqual(['Azul, Lda']);
    await pointAlias(client, alias, `${alias}-2`);
    expect(await ask('azul', `${alias}-2`)).toEqual(['Azul Novo, Lda']);
    await pointAlias(client, alias, `${alias}-1`);
    expect(await ask('azul', `${alias}-1`)).toEqual(['Azul, Lda']);
  });

  test('an answer from an index that is not current yet is given, and never from the cache under the current one', async () => {
    // Postgres names the new index a moment before the alias leads to it.
    expect(await ask('azul', `${alias}-2`)).toEqual(['Azul, Lda']);
    await pointAlias(client, alias, `${alias}-2`);
    expect(await ask('azul', `${alias}-2`)).toEqual(['Azul Novo, Lda']);
  });

  test('Elasticsearch itself ends the cached answers: once it has answered from another index, none is used', async () => {
    // As if the notification of the change were lost.
    expect(await ask('azul', `${alias}-1`)).toEqual(['Azul, Lda']);
    await pointAlias(client, alias, `${alias}-2`);
    expect(await ask('verde', `${alias}-1`)).toEqual(['Verde']);
    expect(await ask('azul', `${alias}-1`)).toEqual(['Azul Novo, Lda']);
    expect(cache.hits).toBe(0);
  });

  test('an answer that found nothing is no sign of the index: the next query is asked of Elasticsearch', async () => {
    await ask('azul', `${alias}-1`);
    nowMs += 200;
    await ask('nada', `${alias}-1`);
    nowMs += 200;
    await ask('azul', `${alias}-1`);
    expect(cache.hits).toBe(0);
  });

  test('without a known index nothing is taken from the cache', async () => {
    await ask('azul', `${alias}-1`);
    await ask('azul', null);
    expect(cache.hits).toBe(0);
  });

  test('an outage is not hidden: without a sign of life of the last moment Elasticsearch is asked, and fails', async () => {
    await ask('azul', `${alias}-1`);
    proxy.down();
    nowMs += 1000;
    await expect(ask('azul', `${alias}-1`)).rejects.toThrow();
    await ask('azul', `${alias}-1`).catch(() => {});
    proxy.up();
    expect(await ask('azul', `${alias}-1`)).toEqual(['Azul, Lda']);
  });
});
