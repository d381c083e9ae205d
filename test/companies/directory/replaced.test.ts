/** Every reader of the directory, while imports replace its generation, and drop its table, in the middle of the read. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Resolution, resolveNames } from '../../../src/companies/resolve/resolve.ts';
import { createCompanyNames } from '../../../src/companies/search/company-names.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { withTimeout } from '../../../src/platform/runtime/timeout.ts';
import { SECOND } from '../../../src/platform/units.ts';
import { runHere } from '../../support/command.ts';
import { csv, nif } from '../../support/companies.ts';
import { startProxy, type TcpProxy } from '../../support/proxy.ts';
import { matchesOf, readerOf, searchEntries, searchOf } from '../../support/search-entries.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';
import { matchEntries } from '../matches/matches-support.ts';

const SRC = join(import.meta.dir, '../../../src');
/** Companies of the first generation. The others have as many more as their number. */
const COMPANIES = 40;

let bench: Workbench;
let proxy: TcpProxy;
let sql: Sql;
let generation = 0;
let url: string;
/** Happens before a piece for Postgres, about a statement, is passed on. */
let beforePiece: (piece: Buffer) => Promise<void> | undefined = () => undefined;

beforeAll(async () => {
  bench = await createWorkbench('postgres');
  await importNext();
  proxy = await startProxy(bench.database.url, { sent: (piece) => beforePiece(piece) });
  url = proxy.url(bench.database.url);
  sql = connectPostgres(url, { max: 1 });
});
afterAll(async () => {
  await sql.end({ timeout: 1 });
  await proxy.close();
  await bench.close();
});

const fileOf = (generation: number) =>
  csv(0, COMPANIES + generation, (n) => `Azul Mar ${generation} ${n % 2 === 0 ? 'Azul' : 'Sol'} ${n}`);

async function importNext(): Promise<void> {
  generation += 1;
  await bench.importText(fileOf(generation), { replace: true });
}

/** The generations whose names are in a text. */
const generationsIn = (text: string) => [
  ...new Set([...text.matchAll(/Azul Mar (\d+) /g)].map(([, found]) => Number(found))),
];

interface Reader {
  /** @returns the generations that the answer is from */
  read(): Promise<number[]>;
  /** Pieces that are worth a switch. A command sends others before it reads the directory. */
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
  const read = async () => {
    const { code, stdout, stderr } = await runHere({ DATABASE_URL: url }, ...words);
    expect([code, stderr]).toEqual([0, stderr]);
    return readAnswer(stdout);
  };
  // The first byte of a statement is its type. A connection's start has none, and names a database `directory_…`.
  return { read, counts: (piece) => piece[0] !== 0 && piece.includes('directory') };
}

/** The files that read tables of generations. */
const READERS: Record<string, () => Promise<Record<string, Reader>>> = {
  'companies/search/search.ts': async () => {
    const postgres = searchOf(sql);
    return {
      name: search(() => searchEntries(postgres, 'azul')),
      nif: search(() => searchEntries(postgres, nif(7))),
    };
  },
  'companies/search/company-names.ts': async () => {
    const names = createCompanyNames(sql);
    return { names: search(async () => [...(await names([nif(7), nif(8)])).values()]) };
  },
  'companies/matches/matches.ts': async () => {
    const find = matchesOf(sql);
    return {
      many: search(() => matchEntries(find, 'azul')),
      few: search(() => matchEntries(find, 'sol mar 17')),
    };
  },
  'companies/resolve/resolve-reader.ts': async () => {
    const withReader = readerOf(sql);
    const resolve = (name: string) => async () => {
      const [{ candidates }] = (await withTimeout(
        withReader((reader) => resolveNames(reader, [name])),
        60 * SECOND,
        'Postgres',
      )) as [Resolution];
      return candidates;
    };
    return { near: search(resolve('Azull Mar 17')), frequent: search(resolve('Azul Mar')) };
  },
  'companies/directory/directory-commands.ts': async () => ({
    export: command(['companies', 'export'], generationsIn),
  }),
  'companies/directory/index-status.ts': async () => ({
    status: command(['index', 'status', '--json'], (stdout) => [JSON.parse(stdout).documents - COMPANIES]),
  }),
  'companies/directory/directory-import.ts': async () => {
    const path = await bench.write('dry.csv', fileOf(1));
    const words = ['companies', 'import', path, '--replace', '--force', '--dry-run', '--json'];
    const readAnswer = (stdout: string) => {
      const { removed } = JSON.parse(stdout);
      return [removed + 1];
    };
    return { 'dry run': command(words, readAnswer) };
  },
};

/** The files that learn which generation is current, and read no table of it, or only under the directory's lock. */
const OTHERS = [
  ...[
    'backup/restore.ts',
    'companies/datasets/age-metrics.ts',
    'companies/datasets/datasets-store.ts',
    'demo/demo.ts',
    'companies/directory/tidy.ts',
    'companies/directory/generations.ts',
  ],
  ...['companies/directory/watch.ts', 'companies/search/current.ts', 'companies/search/open-search.ts'],
];

test('these are the files that learn which generation is current', async () => {
  const found: string[] = [];
  for await (const path of new Bun.Glob('**/*.ts').scan(SRC)) {
    const text = await Bun.file(join(SRC, path)).text();
    if (/readDirectory\(|openCurrent\(|current\.read\(|directory_generations/.test(text)) found.push(path);
  }
  expect(found.sort()).toEqual([...Object.keys(READERS), ...OTHERS].sort());
});

test.each(Object.entries(READERS))(
  '%s: no answer mixes two generations, and no read fails',
  async (_, open) => {
    for (const [name, { read, counts = () => true }] of Object.entries(await open())) {
      // The first read learns the generation and prepares the statements.
      expect(await read()).toEqual([generation]);
      // After one import the table is still there, after two it is not.
      for (const imports of [1, 2]) {
        for (let n = 1; ; n += 1) {
          const before = generation;
          let left = n;
          beforePiece = async (piece) => {
            if (!counts(piece) || --left !== 0) return;
            for (let i = 0; i < imports; i += 1) await importNext();
          };
          const found = await read();
          if (left > 0) break;
          expect([name, n, found.length]).toEqual([name, n, 1]);
          expect(found[0]).toBeWithin(before, generation + 1);
        }
      }
    }
  },
);
