/** The death of Elasticsearch nodes, of a cluster that the tests start for themselves. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Client } from '@elastic/elasticsearch';
import type { DirectoryContext } from '../../src/companies/directory/directory-context.ts';
import { importCompanies } from '../../src/companies/directory/directory-import.ts';
import { readDirectory } from '../../src/companies/directory/generations.ts';
import { statusReport } from '../../src/companies/directory/index-status.ts';
import { untilCopied } from '../../src/companies/directory/indexing/copies.ts';
import { newIndexName } from '../../src/companies/directory/indexing/indices.ts';
import { rollbackIndex } from '../../src/companies/directory/rebuild.ts';
import { createElasticsearch } from '../../src/platform/elasticsearch/client.ts';
import type { Progress } from '../../src/platform/terminal/progress.ts';
import { ledgerOf } from '../metering/credits/ledger.ts';
import { csv } from '../support/companies.ts';
import { type ElasticsearchPair, startElasticsearchPair } from '../support/elasticsearch-pair.ts';
import { createFolder } from '../support/folder.ts';
import { NO_PROGRESS } from '../support/progress.ts';
import { createCaller, PLENTY, startTestService, type TestService } from '../support/service.ts';
import { eventually, until } from '../support/until.ts';

const COMPANIES = 1_000;
const NEVER = new AbortController().signal;

let pair: ElasticsearchPair;
let service: TestService;
let client: Client;
let context: DirectoryContext;
let caller: { accountId: string; key: string };
const folder = createFolder('lost-node');
beforeAll(async () => {
  pair = await startElasticsearchPair();
  service = await startTestService({ env: { ELASTICSEARCH_URL: pair.url } });
  client = createElasticsearch(service.config)!;
  context = { ...service, elasticsearch: client, signal: NEVER, actor: 'test' };
  caller = await createCaller(service.sql, PLENTY);
}, 240_000);
afterAll(async () => {
  await client.close();
  await service.stop();
  await pair.stop();
});

/** Imports companies whose names all end in `ending`. */
async function importAll(ending: string, progress: Partial<Progress> = {}) {
  const path = join(folder, 'all.csv');
  await Bun.write(
    path,
    csv(0, COMPANIES, (n) => `Empresa ${String(n).padStart(6, '0')} ${ending}`),
  );
  return importCompanies(context, { path }, {}, { ...NO_PROGRESS, ...progress });
}

let used = 0;

/** Searches one company by its name. @returns the status, and the name that was found */
async function ask(n: number): Promise<[status: number, name: string | undefined]> {
  const query = `empresa ${String(n % COMPANIES).padStart(6, '0')}`;
  const answer = await fetch(`${service.url}/companies?q=${encodeURIComponent(query)}`, {
    headers: { Authorization: `Bearer ${caller.key}` },
  });
  const { data } = (await answer.json()) as { data?: { legal_name: string }[] };
  // 503 costs nothing; each other answer costs its credit (specification, Errors).
  if (answer.status !== 503) used += 1;
  return [answer.status, data?.[0]?.legal_name];
}

/** Clients that search all the time. They repeat a 503 once, and the `search-failed` of a busy machine. */
function startClients() {
  const lost: unknown[] = [];
  let searches = 0;
  let isOver = false;
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const n = searches++;
      let answer = await ask(n);
      if (answer[0] === 503 || answer[0] === 500) {
        await Bun.sleep(1000); // as its Retry-After says
        answer = await ask(n);
      }
      if (answer[0] !== 200 || answer[1] === undefined) lost.push(answer);
      await Bun.sleep(20); // leaves the nodes most of the machine
    }
  });
  return {
    more: async () => {
      const before = searches;
      await until('more searches', () => searches > before + 100, 30_000);
    },
    /** @returns the searches that were lost */
    async stop() {
      isOver = true;
      await Promise.all(clients);
      return lost;
    },
  };
}

/** Of all months, because a test may last into the next one. */
const booked = async () => (await ledgerOf(service.sql, caller.accountId)).calls;

let isNodeBAlive = true;

/** The cluster as a test wants it: it begins with both nodes. */
async function setNodeB(isAlive: boolean): Promise<void> {
  if (isAlive && !isNodeBAlive) {
    pair.joinB();
    const both = { wait_for_nodes: '2', wait_for_status: 'green' } as const;
    await client.cluster.health({ index: 'companies-*', ...both, timeout: '60s' });
  }
  if (!isAlive && isNodeBAlive) pair.cutB();
  isNodeBAlive = isAlive;
}

test.each([
  ['a copy that no node takes', 1, 'b', '1 of 2'],
  ['more copies than nodes', 2, 'a,b', '2 of 3'],
])('the wait for %s ends with a warning', async (_, replicas, nodes, expected) => {
  await setNodeB(true);
  const name = newIndexName('waiting', 'none');
  await client.indices.create({
    index: name,
    wait_for_active_shards: replicas,
    settings: { number_of_replicas: replicas, 'index.routing.allocation.include._name': nodes },
  });
  const said: string[] = [];
  const note = (line: string) => void said.push(line);
  const progress = { ...NO_PROGRESS, phase: note, note };
  await untilCopied(client, name, { signal: NEVER, progress }, 1_000);
  expect(said).toEqual([
    'copying the index to other nodes',
    `warning: the new index has ${expected} shard copies after 1 s on 2 nodes: the death of a node may end searches`,
  ]);
  await client.indices.delete({ index: name });
});

test.each(['a', 'b'] as const)(
  'node %s freezes: no search is lost, and the status answers',
  async (name) => {
    await setNodeB(true);
    await importAll(`Parada ${name}`);
    const clients = startClients();
    await clients.more();
    pair[name].freeze();
    await clients.more();
    const report = await statusReport(context, { note: () => {} });
    expect(report).toMatchObject({ documents: COMPANIES, index: expect.stringMatching(/^companies-/) });
    await clients.more();
    pair[name].thaw();
    expect(await clients.stop()).toEqual([]);
    await eventually(booked, used);
    await client.cluster.health({ index: 'companies-*', wait_for_status: 'green', timeout: '60s' });
  },
  120_000,
);

test('the node of the primary shard dies right after a swap: no search is lost, and the books are exact', async () => {
  await setNodeB(true);
  const { index: first } = await importAll('Antiga');
  const clients = startClients();
  await clients.more();
  // What a rollback returns to is on node b alone from now on.
  await client.indices.putSettings({
    index: first,
    settings: { auto_expand_replicas: 'false', number_of_replicas: 0 },
  });

  let killing: Promise<string[]> | null = null;
  const kill = async () => {
    const { index } = (await readDirectory(service.sql)).current;
    const shards = await client.cat.shards({ index: index!, format: 'json' });
    await setNodeB(false);
    return shards.map(({ prirep, state, node }) => `${prirep} ${state} ${node}`).sort();
  };
  await importAll('Nova', {
    note(line) {
      if (line === 'searches see the new directory') killing = kill();
    },
  });
  // The new index has both copies.
  expect(await killing!).toEqual(['p STARTED b', 'r STARTED a']);
  await clients.more();
  await clients.more();
  expect(await clients.stop()).toEqual([]);
  expect((await ask(7))[1]).toBe('Empresa 000007 Nova');
  await eventually(booked, used);

  // A rollback to an index that no node has builds it from Postgres.
  const notes: string[] = [];
  const progress = { ...NO_PROGRESS, note: (line: string) => void notes.push(line) };
  await rollbackIndex(context, progress);
  expect(notes[0]).toBe(
    'the directory before the import has no index that answers: it is built from Postgres',
  );
  expect((await ask(8))[1]).toBe('Empresa 000008 Antiga');
});

test('an import while one of the nodes is dead goes through, and no search is lost', async () => {
  await importAll('Presente');
  await setNodeB(false);
  const clients = startClients();
  const phases: string[] = [];
  await importAll('Seguinte', { phase: (name) => void phases.push(name) });
  expect(phases).not.toContain('copying the index to other nodes');
  await clients.more();
  expect(await clients.stop()).toEqual([]);
  expect((await ask(9))[1]).toBe('Empresa 000009 Seguinte');
});

test('the node that builds an index dies: nothing has changed, the same command again does it, and no search is lost', async () => {
  await importAll('Seguinte');
  await setNodeB(true);
  const clients = startClients();
  // Long, so that the rows are two bulk requests, each of 100 pages of the table: one is under way when the node dies.
  const last = `Última ${'Lda '.repeat(110).trimEnd()}`;
  let phase = '';
  let killing: Promise<void> | null = null;
  const progress: Partial<Progress> = {
    phase: (name) => {
      phase = name;
    },
    update() {
      if (phase !== 'indexing' || killing !== null) return;
      isNodeBAlive = false;
      killing = pair.b.kill();
    },
  };
  await expect(importAll(last, progress)).rejects.toThrow(
    /: nothing has changed(?:; check ELASTICSEARCH_URL and the server)?$/,
  );
  await killing;
  expect((await ask(10))[1]).toBe('Empresa 000010 Seguinte');
  await importAll(last);
  await clients.more();
  expect(await clients.stop()).toEqual([]);
  expect((await ask(10))[1]).toBe(`Empresa 000010 ${last}`);
  await eventually(booked, used);
}, 240_000);
