/** Every reader of the directory, in each store, while imports replace its generation, and drop its table or index, in the middle of the read. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import type { Client } from '@elastic/elasticsearch';
import { tidyNow } from '../../../src/companies/directory/tidy.ts';
import { type Resolution, resolveNames } from '../../../src/companies/resolve/resolve.ts';
import { createCompanyNames } from '../../../src/companies/search/company-names.ts';
import { CONFIRMED_MS } from '../../../src/companies/search/current.ts';
import { createElasticsearch } from '../../../src/platform/elasticsearch/client.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { SECOND } from '../../../src/platform/units.ts';
import { runHere } from '../../support/command.ts';
import { csv, nif } from '../../support/companies.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import type { Mode } from '../../support/modes.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';
import { matchEntries, matchesOf, readerOf, searchEntries, searchOf } from '../../support/search-entries.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

const SRC = join(import.meta.dir, '../../../src');
/** Companies of the first generation. The others have as many more as their number. */
const COMPANIES = 40;

/** A directory, and the way to its store, on which each request can be stopped. */
interface Store {
  bench: Workbench;
  proxy: TcpProxy;
  /** Postgres's, in embedded mode through the proxy. */
  url: string;
  sql: Sql;
  /** Through the proxy. */
  client: Client | null;
  imports: number;
  /** The current generation and the one before it, by the number of their import. */
  current: number;
  previous: number;
  /** Happens before a piece for the store, about a statement or a request, is passed on. */
  beforePiece(piece: Buffer): Promise<void> | undefined;
}

/** Every import ends CONFIRMED_MS after its change. Its readers are of this process, so their clock jumps, and nothing waits. */
function jumpForImports(): { restore(): void } {
  let jumpedMs = 0;
  const [now, sleep] = [performance.now.bind(performance), Bun.sleep];
  const spies = [
    spyOn(performance, 'now').mockImplementation(() => now() + jumpedMs),
    spyOn(Bun, 'sleep').mockImplementation(async (ms) => {
      if (ms !== CONFIRMED_MS) return sleep(ms);
      jumpedMs += CONFIRMED_MS;
    }),
  ];
  return { restore: () => spies.forEach((spy) => void spy.mockRestore()) };
}

const stores = new Map<Mode, Store>();
let clock: ReturnType<typeof jumpForImports>;
beforeAll(() => {
  clock = jumpForImports();
});
afterAll(async () => {
  clock.restore();
  for (const { bench, proxy, sql, client } of stores.values()) {
    await client?.close();
    await sql.end({ timeout: 1 });
    await proxy.close();
    await bench.close();
  }
});

async function openStore(mode: Mode): Promise<Store> {
  const bench = await createWorkbench(mode);
  const storeUrl = mode === 'full' ? elasticsearchUrl : bench.database.url;
  const proxy = await startProxy(storeUrl, { sent: (piece) => store.beforePiece(piece) });
  const url = mode === 'full' ? bench.database.url : proxy.url(storeUrl);
  const sql = connectPostgres(url, { max: 1 });
  const client =
    mode === 'full'
      ? createElasticsearch({ elasticsearchUrl: proxy.url(storeUrl), elasticsearchApiKey: null })
      : null;
  const none = { imports: 0, current: 0, previous: 0, beforePiece: () => undefined };
  const store: Store = { bench, proxy, url, sql, client, ...none };
  stores.set(mode, store);
  await importNext(store);
  return store;
}

const fileOf = (generation: number) =>
  csv(0, COMPANIES + generation, (n) => `Azul Mar ${generation} ${n % 2 === 0 ? 'Azul' : 'Sol'} ${n}`);

async function importNext(store: Store): Promise<void> {
  store.imports += 1;
  await store.bench.importText(fileOf(store.imports), { replace: true });
  [store.current, store.previous] = [store.imports, store.current];
}

/** The generation before becomes the current one, and the current one stays, as after one import. */
async function exchange(store: Store): Promise<void> {
  await store.bench.tools.sql`UPDATE directory SET current = previous, previous = current`;
  [store.current, store.previous] = [store.previous, store.current];
}

/** The generation before becomes the current one, and the current one is removed, as after two imports. */
async function replace(store: Store): Promise<void> {
  await exchange(store);
  await store.bench.tools.sql`UPDATE directory SET previous = NULL`;
  await tidyNow(store.bench.tools);
}

/** The generations whose names are in a text. */
const generationsIn = (text: string) => [
  ...new Set([...text.matchAll(/Azul Mar (\d+) /g)].map(([, found]) => Number(found))),
];

interface Reader {
  /** @returns the generations that the answer is from */
  read(store: Store): Promise<number[]>;
  /** Pieces that are worth a switch. A command sends others before it reads the directory. By default those of Postgres, or searches. */
  counts?: (piece: Buffer) => boolean;
}

function search(find: () => Promise<unknown[]>): Reader {
  const read = async () => {
    const entries = await find();
    expect(entries).not.toEqual([]);
    return generationsIn(JSON.stringify(entries));
  };
  return { read };
}

function command(words: string[], readAnswer: (stdout: string) => number[]): Reader {
  const read = async ({ url }: Store) => {
    const { code, stdout, stderr } = await runHere({ DATABASE_URL: url }, ...words);
    expect([code, stderr]).toEqual([0, stderr]);
    return readAnswer(stdout);
  };
  // The first byte of a statement is its type. A connection's start has none, and names a database `directory_…`.
  return { read, counts: (piece) => piece[0] !== 0 && piece.includes('directory') };
}

type OpenReaders = (store: Store) => Promise<Record<string, Reader>>;

/** The files that read what either store has of a generation. */
const IN_BOTH_STORES: Record<string, OpenReaders> = {
  'companies/search/search.ts': async ({ sql, client }) => {
    const directory = searchOf(sql, client);
    return {
      name: search(() => searchEntries(directory, 'azul')),
      nif: search(() => searchEntries(directory, nif(7))),
    };
  },
  'companies/matches/matches.ts': async ({ sql, client }) => {
    const find = matchesOf(sql, client);
    return {
      many: search(() => matchEntries(find, 'azul')),
      few: search(() => matchEntries(find, 'sol mar 17')),
    };
  },
  'companies/resolve/resolve-reader.ts': async ({ sql, client }) => {
    const withReader = readerOf(sql, client);
    const resolve = (name: string) => async () => {
      const [{ candidates }] = (await withTimeout(
        withReader((reader) => resolveNames(reader, [name])),
        60 * SECOND,
        'the directory',
      )) as [Resolution];
      return candidates;
    };
    return { near: search(resolve('Azull Mar 17')), frequent: search(resolve('Azul Mar')) };
  },
};

/** The files that read tables of generations, with or without Elasticsearch. */
const IN_POSTGRES: Record<string, OpenReaders> = {
  'companies/search/company-names.ts': async ({ sql }) => {
    const names = createCompanyNames(sql);
    return { names: search(async () => [...(await names([nif(7), nif(8)])).values()]) };
  },
  'companies/directory/directory-commands.ts': async () => ({
    export: command(['companies', 'export'], generationsIn),
  }),
  'companies/directory/index-status.ts': async () => ({
    status: command(['index', 'status', '--json'], (stdout) => [JSON.parse(stdout).documents - COMPANIES]),
  }),
  'companies/directory/directory-import.ts': async ({ bench }) => {
    const path = await bench.write('dry.csv', fileOf(1));
    const words = ['companies', 'import', path, '--replace', '--force', '--dry-run', '--json'];
    return { 'dry run': command(words, (stdout) => [JSON.parse(stdout).removed + 1]) };
  },
};

/** The files that learn which generation is current, and read no table of it, or only under the directory's lock. */
const OTHERS = [
  ...['backup/restore.ts', 'companies/datasets/age-metrics.ts', 'companies/datasets/datasets-store.ts'],
  ...['demo/demo.ts', 'companies/directory/tidy.ts', 'companies/directory/generations.ts'],
  ...['companies/directory/watch.ts', 'companies/search/current.ts', 'companies/search/open-search.ts'],
];

test('these are the files that learn which generation is current', async () => {
  const found: string[] = [];
  for await (const path of new Bun.Glob('**/*.ts').scan(SRC)) {
    const text = await Bun.file(join(SRC, path)).text();
    if (/readDirectory\(|openCurrent\(|current\.read\(|directory_generations/.test(text)) found.push(path);
  }
  const readers = Object.keys({ ...IN_BOTH_STORES, ...IN_POSTGRES });
  expect(found.sort()).toEqual([...readers, ...OTHERS].sort());
});

const ofMode = (mode: Mode, readers: Record<string, OpenReaders>) =>
  Object.entries(readers).map(([file, open]) => [file, mode, open] as const);

test.each([...ofMode('postgres', { ...IN_BOTH_STORES, ...IN_POSTGRES }), ...ofMode('full', IN_BOTH_STORES)])(
  '%s, %s: no answer mixes two generations, and no read fails',
  async (_, mode, open) => {
    const store = stores.get(mode) ?? (await openStore(mode));
    const isSearch = (piece: Buffer) => mode === 'postgres' || piece.includes('/_msearch');
    for (const [name, { read, counts = isSearch }] of Object.entries(await open(store))) {
      // The first read learns the generation and prepares the statements.
      expect(await read(store)).toEqual([store.current]);
      // A read that begins after an import is of it, also if another generation is known.
      await importNext(store);
      expect(await read(store)).toEqual([store.current]);
      // On a slow machine an import takes longer than a read may, so it was before, and its generation is the one before.
      for (const change of [exchange, replace]) {
        for (let n = 1; ; n += 1) {
          if (change === replace) {
            await importNext(store);
            await exchange(store);
          }
          const { current, previous } = store;
          let left = n;
          store.beforePiece = async (piece) => {
            if (counts(piece) && --left === 0) await change(store);
          };
          const found = await read(store);
          if (left > 0) break;
          expect([name, n, found.length]).toEqual([name, n, 1]);
          expect([current, previous]).toContain(found[0]!);
        }
      }
    }
  },
  120_000,
);
