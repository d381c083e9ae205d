/** Two databases with one alias on one Elasticsearch, such as a copy of a database and its original. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { aliasTargets, pointAlias } from '../../../src/companies/directory/indexing/alias.ts';
import { createIndex, listIndices, newIndexName } from '../../../src/companies/directory/indexing/indices.ts';
import { rebuildIndex } from '../../../src/companies/directory/rebuild.ts';
import { ensureSearchable } from '../../../src/companies/directory/startup-check.ts';
import { statusReport } from '../../../src/companies/directory/status.ts';
import { createElasticsearchSearch } from '../../../src/companies/search/elasticsearch.ts';
import { csv } from '../../support/companies.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { searchEntries } from '../../support/search-entries.ts';
import '../../support/modes.ts';
import { until } from '../../support/until.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

let original: Workbench;
beforeEach(async () => {
  original = await createWorkbench('full');
});
afterEach(() => original.close());

/** Names of one version of a directory. Half of them equal the query `Alfa`, so both searches of an answer find some. */
const version = (mark: string) => csv(0, 30, (n) => (n % 2 === 0 ? `Alfa. ${mark}` : `Alfa ${mark} ${n}`));

const targetsOf = ({ tools, alias }: Workbench) => aliasTargets(tools.elasticsearch!, alias);

/** The letter of the workbench whose index the alias leads to. */
async function ownerOf(benches: Record<string, Workbench>): Promise<string> {
  const owners: string[] = [];
  for (const [letter, bench] of Object.entries(benches)) {
    const { id } = await readDirectory(bench.tools.sql);
    const own = await listIndices(bench.tools.elasticsearch!, bench.alias, id);
    owners.push(...(await targetsOf(bench)).filter((index) => own.includes(index)).map(() => letter));
  }
  return owners.join();
}

const REFUSED =
  /^the alias \S+ leads to \S+, an index of another database: nothing has changed; set another ELASTICSEARCH_ALIAS [^\n]+$/;
const WARNING = expect.stringMatching(
  /^searches go to an index of another database: [^\n]*ELASTICSEARCH_ALIAS/,
);

test('a copied database takes the alias by a rebuild alone, and no answer mixes two directories', async () => {
  await original.importText(version('A1'), { replace: true });
  await original.importText(version('A2'), { replace: true });
  const copy = await createWorkbench('full', { copyOf: original });
  const benches = { A: original, B: copy };

  // Two services: each searches and checks all the time.
  let isStopped = false;
  let rounds = 0;
  const strange = new Set<string>();
  const serve = async ({ tools, alias }: Workbench) => {
    const search = createElasticsearchSearch(tools.elasticsearch!, alias);
    while (!isStopped) {
      for (const query of ['alfa', 'alfa a2', 'alfa b1']) {
        const answer = await searchEntries(search, query).catch((error) => [{ legalName: String(error) }]);
        const marks = new Set(answer.map(({ legalName }) => / ([AB]\d)/.exec(legalName)?.[1] ?? legalName));
        if (marks.size > 1) strange.add([...marks].join(' and '));
      }
      await ensureSearchable(tools);
      rounds += 1;
    }
  };
  const owners: string[] = [];
  const watch = async () => {
    while (!isStopped) {
      const targets = await targetsOf(original);
      if (targets.length !== 1) strange.add(`the alias has ${targets.length} indices`);
      await Bun.sleep(5); // leaves Elasticsearch most of the machine
    }
  };
  const running = [serve(original), serve(copy), watch()];
  /** Makes a change, lets both services check twice, and notes to which directory searches go. */
  const step = async <T>(change: () => Promise<T>): Promise<T | string> => {
    const outcome = await change().catch(({ message }) => message as string);
    const before = rounds;
    await until('checks by both services', () => rounds >= before + 4);
    owners.push(await ownerOf(benches));
    return outcome;
  };
  try {
    expect(await step(() => copy.importText(version('B1'), { replace: true }))).toMatch(REFUSED);
    expect(await step(() => copy.importText(version('A2'), { replace: true }))).toMatch(REFUSED);
    expect(await step(() => copy.rollback())).toMatch(REFUSED);
    expect(await step(() => original.importText(version('A3'), { replace: true }))).toMatchObject({
      imported: 30,
    });
    expect(owners.splice(0)).toEqual(['A', 'A', 'A', 'A']);
    expect(await ensureSearchable(copy.tools)).toEqual({ ok: false, warnings: [WARNING] });
    expect(await ensureSearchable(original.tools)).toEqual({ ok: true, warnings: [] });

    const notes: string[] = [];
    const progress = { ...NO_PROGRESS, note: (line: string) => void notes.push(line) };
    const [taken] = await targetsOf(original);
    await step(() => rebuildIndex(copy.tools, progress));
    expect(notes[0]).toBe(
      `the alias ${copy.alias} is taken from ${taken}, an index of another database, which stays`,
    );
    await step(() => copy.importText(version('B1'), { replace: true }));
    expect(await step(() => original.importText(version('A4'), { replace: true }))).toMatch(REFUSED);
    expect(await step(() => original.rollback())).toMatch(REFUSED);
    await step(() => copy.rollback());
    expect(owners.splice(0)).toEqual(['B', 'B', 'B', 'B', 'B']);
    expect(await ensureSearchable(original.tools)).toEqual({ ok: false, warnings: [WARNING] });

    await step(() => original.rebuild());
    await step(() => original.importText(version('A4'), { replace: true }));
    expect(owners.splice(0)).toEqual(['A', 'A']);
    expect(await ensureSearchable(original.tools)).toEqual({ ok: true, warnings: [] });
    expect(await original.search('alfa a4 1')).not.toEqual([]);

    await step(() => Promise.all([original.rebuild(), copy.rebuild()]));
    expect(owners).toEqual([expect.stringMatching(/^[AB]$/)]);
  } finally {
    isStopped = true;
    await Promise.all(running);
    await copy.close();
  }
  expect([...strange]).toEqual([]);
});

test('status says of a copy, whose rows are those of the index, that searches see another database', async () => {
  await original.importText(csv(0, 10));
  const copy = await createWorkbench('full', { copyOf: original });
  try {
    expect(await statusReport(copy.tools, { note: () => {} })).toMatchObject({
      documents: 10,
      drift: 20,
      driftMeans: 'searches see the directory of another database',
    });
    expect(await statusReport(original.tools, { note: () => {} })).not.toHaveProperty('drift');
  } finally {
    await copy.close();
  }
});

test('an import that loses the alias at its end says what is done, and a rebuild finishes it', async () => {
  await original.importText(csv(0, 10));
  const copy = await createWorkbench('full', { copyOf: original });
  const { indices } = original.tools.elasticsearch!;
  try {
    const refresh = indices.refresh.bind(indices) as (...args: unknown[]) => Promise<unknown>;
    const taking = async (...args: unknown[]) => {
      Object.assign(indices, { refresh });
      await copy.rebuild();
      return refresh(...args);
    };
    Object.assign(indices, { refresh: taking });
    await expect(original.importText(csv(0, 20))).rejects.toThrow(
      /^the import is done in Postgres, but the alias \S+ leads to \S+, an index of another database: set another ELASTICSEARCH_ALIAS/,
    );
    expect(await original.rows()).toHaveLength(20);
    expect(await ownerOf({ A: original, B: copy })).toBe('B');
    expect(await original.rebuild()).toMatchObject({ documents: 20 });
    expect(await ownerOf({ A: original, B: copy })).toBe('A');
  } finally {
    await copy.close();
  }
});

test('moves at once, also the first ones, leave the alias with one index', async () => {
  const client = original.tools.elasticsearch!;
  const { alias } = original;
  const moves = ['a', 'b', 'c'].map((directoryId) => ({
    alias,
    index: newIndexName(alias),
    directoryId,
    takesOver: true,
  }));
  for (const { index, directoryId } of moves)
    await createIndex(client, index, { directory: directoryId, generation: 1, fingerprint: '' });
  for (let round = 0; round < 10; round += 1) {
    await Promise.allSettled(moves.map((move) => pointAlias(client, move)));
    expect(await aliasTargets(client, alias)).toHaveLength(1);
    if (round % 3 === 0) await client.indices.deleteAlias({ index: `${alias}-*`, name: alias });
  }
});
