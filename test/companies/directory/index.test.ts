import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { importCompanies } from '../../../src/companies/directory/directory-import.ts';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { checkIndex } from '../../../src/companies/directory/indexing/build-index.ts';
import { createIndex } from '../../../src/companies/directory/indexing/indices.ts';
import { withDirectoryLock } from '../../../src/companies/directory/lock.ts';
import { rebuildIndex } from '../../../src/companies/directory/rebuild.ts';
import { tidyNow } from '../../../src/companies/directory/tidy.ts';
import { ensureSearchable, warningOf } from '../../../src/companies/directory/watch.ts';
import { directoryRow, type SearchDocument, searchDocument } from '../../../src/companies/search/document.ts';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { csv, nif } from '../../support/companies.ts';
import { MODES } from '../../support/modes.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { searchEntries, searchOf } from '../../support/search-entries.ts';
import { until } from '../../support/until.ts';
import { createWorkbench, indicesOf, tablesOf, type Workbench } from '../../support/workbench.ts';

/** Changes the current rows to what another normalization might have made of them. */
async function spoilNormalization(sql: Sql): Promise<void> {
  const { tableName } = (await readDirectory(sql)).current;
  await sql`UPDATE ${sql(tableName)} SET normalized_name = 'old ' || nif, sort_key = nif`;
}

for (const mode of MODES) {
  describe(`index rebuild, rollback and status, ${mode}`, () => {
    let bench: Workbench;
    beforeEach(async () => {
      bench = await createWorkbench(mode);
    });
    afterEach(() => bench.close());

    test('a rollback returns search and Postgres to before the last import', async () => {
      await bench.importText(csv(0, 30));
      const before = {
        rows: await bench.rows(),
        found: await bench.search('empresa'),
        ...(await bench.status()),
      };
      await bench.importText(csv(10, 31, (n) => `Outra ${n}`));
      expect(await bench.search('outra')).toHaveLength(20);
      expect(await bench.status()).toMatchObject({ previous: before.index, documents: 31 });

      expect(await bench.rollback()).toEqual({ index: before.index, previous: null, documents: 30 });
      expect(await bench.rows()).toEqual(before.rows);
      expect(await bench.search('empresa')).toEqual(before.found);
      expect(await bench.search('outra')).toEqual([]);
    });

    test('the first import can be undone: the directory is empty then', async () => {
      await bench.importText(csv(0, 30));
      expect(await bench.rollback()).toMatchObject({ previous: null, documents: 0 });
      expect(await bench.search('empresa')).toEqual([]);
      expect(await bench.rows()).toEqual([]);
    });

    if (mode === 'full') {
      test('an import replaces an index that can answer no question', async () => {
        await bench.importText(csv(0, 30));
        const { index } = await bench.status();
        await bench.tools.elasticsearch!.indices.close({ index });
        await bench.importText(csv(10, 31, (n) => `Outra ${n}`));
        expect(await bench.search('outra')).toHaveLength(20);
        expect((await bench.status()).index).not.toBe(index);
      });
    }

    test('a rebuild changes what serves, not what a rollback returns to', async () => {
      await bench.importText(csv(0, 10));
      await bench.importText(csv(10, 20));
      const before = await bench.status();
      const after = await bench.rebuild();
      expect(after).toEqual({ index: expect.any(String), previous: before.previous, documents: 20 });
      expect(after.index).not.toBe(before.index);
      expect(await bench.search('empresa')).toHaveLength(20);
      if (mode === 'full') expect(await indicesOf(bench)).toEqual([after.index, after.previous!].toSorted());
      expect(await tablesOf(bench)).toHaveLength(2);

      await bench.rollback();
      expect(await bench.rows()).toHaveLength(10);
      expect(await bench.search('empresa')).toHaveLength(10);
    });

    test('a directory normalized by another version is noticed, and a rebuild brings it up to date', async () => {
      await bench.importText(csv(0, 10));
      await bench.importText(csv(10, 20));
      const { sql } = bench.database;
      const { index } = await bench.status();
      await spoilNormalization(sql);
      await sql`UPDATE directory_generations SET normalization = 'another' WHERE id = (SELECT current FROM directory)`;
      expect({ warning: await warningOf(bench.tools) }).toEqual({
        warning: 'the directory was normalized by another version: run "index rebuild"',
      });
      const rebuilt = await bench.rebuild();
      expect(rebuilt).toMatchObject({ documents: 20 });
      expect(rebuilt.index).not.toBe(index);
      expect(await warningOf(bench.tools)).toBeNull();
      const { tableName } = (await readDirectory(sql)).current;
      const [row] = await sql`SELECT normalized_name, sort_key FROM ${sql(tableName)} WHERE nif = ${nif(3)}`;
      expect({ ...row }).toEqual({ normalized_name: 'empresa 000003', sort_key: 'empresa 000003' });
      expect(await bench.search('empresa')).toHaveLength(20);
    });

    test.each([
      ['an import', 20, false],
      ['a replacement', 0, true],
    ])(
      '%s of a directory normalized by another version brings all of it up to date',
      async (_, from, replace) => {
        await bench.importText(csv(0, 20));
        const { sql } = bench.database;
        await spoilNormalization(sql);
        await sql`UPDATE directory_generations SET normalization = 'another'
        WHERE id = (SELECT current FROM directory)`;
        await bench.importText(csv(from, 21), { replace });
        expect(await bench.search('empresa 000003')).toEqual([`${nif(3)} Empresa 000003`]);
        expect(await warningOf(bench.tools)).toBeNull();
        expect(await tablesOf(bench)).toHaveLength(2);
      },
    );

    test('rows that an import normalizes again get no vocabulary of their own', async () => {
      await bench.importText(csv(0, 20));
      const { sql } = bench.database;
      await sql`UPDATE directory_generations SET normalization = 'another' WHERE id = (SELECT current FROM directory)`;
      // The table of the import is the next one, and behind it comes that of the rows that it begins with.
      const [row] = await sql<{ last: number }[]>`SELECT last_value AS last FROM directory_generation_ids`;
      const base = `directory_g${String(row!.last + 2).padStart(6, '0')}`;
      // In the place of its vocabulary, which could not be made.
      await sql.unsafe(`CREATE VIEW ${base}_vocabulary AS SELECT`);
      await bench.importText(csv(20, 21));
      expect(await bench.search('empresa 000003')).toEqual([`${nif(3)} Empresa 000003`]);
      const [after] = await sql<{ last: number }[]>`SELECT last_value AS last FROM directory_generation_ids`;
      expect(after!.last).toBe(row!.last + 2);
    });

    test('an interrupted import changes nothing and leaves nothing behind', async () => {
      await bench.importText(csv(0, 10));
      const before = await bench.status();
      const path = await bench.write(
        'large.csv',
        csv(0, 1_000, (n) => `Interrompida ${n}`),
      );
      let notes: string[] = [];
      /** Imports, and interrupts at the n-th sign of progress. */
      const importUntil = async (n: number) => {
        const controller = new AbortController();
        let signs = 0;
        notes = [];
        const sign = () => {
          if (++signs === n) controller.abort(new Error('interrupted'));
        };
        return importCompanies(
          { ...bench.tools, signal: controller.signal },
          { path },
          {},
          {
            ...NO_PROGRESS,
            phase: sign,
            update: sign,
            note: (line) => void notes.push(line),
          },
        ).then(
          () => 'succeeded',
          (error: Error) => error.message,
        );
      };
      let interrupted = 0;
      while ((await importUntil(interrupted + 1)) === 'interrupted') {
        interrupted++;
        expect(await bench.status()).toEqual(before);
        if ((await tablesOf(bench)).length > 2) {
          // Another session, such as autovacuum, holds the table. The run says so, and the next check removes it.
          expect(notes.join()).toMatch(
            /the next check removes the table|old tables and indices stay for now/,
          );
          await until('only two tables', async () => {
            await tidyNow(bench.tools);
            return (await tablesOf(bench)).length === 2;
          });
        }
        if (mode === 'full') expect(await indicesOf(bench)).toHaveLength(1);
      }
      expect(interrupted).toBeGreaterThan(3);
      expect((await bench.status()).documents).toBe(1_000);
      // It is a whole import for each sign.
    });
  });
}

describe('with or without Elasticsearch', () => {
  let bench: Workbench;
  beforeEach(async () => {
    bench = await createWorkbench('postgres');
  });
  afterEach(() => bench.close());

  test('rows lie in the order of results after imports of many and of few names, and after a rebuild', async () => {
    const { sql } = bench.database;
    const expectOrder = async (rows: number) => {
      const { tableName } = (await readDirectory(sql)).current;
      const lying = await sql<{ nif: string }[]>`SELECT nif FROM ${sql(tableName)} ORDER BY ctid`;
      const ordered = await sql<{ nif: string }[]>`SELECT nif FROM ${sql(tableName)} ORDER BY sort_key, nif`;
      expect([lying.length, [...lying]]).toEqual([rows, [...ordered]]);
    };
    await bench.importText(csv(0, 200, (n) => `Empresa ${(n * 7) % 200}`));
    await expectOrder(200);
    await bench.importText(csv(100, 101, () => 'Abelha'));
    await expectOrder(200);
    await bench.importText(csv(200, 202, (n) => `Abelha ${n}`));
    await expectOrder(202);
    await spoilNormalization(sql);
    await sql`UPDATE directory_generations SET normalization = 'other'`;
    await bench.rebuild();
    await expectOrder(202);
  });

  test('a second rollback has nothing to return to, and says so', async () => {
    await expect(bench.rollback()).rejects.toThrow('there is nothing to return to');
    await bench.importText(csv(0, 5));
    await bench.importText(csv(5, 9));
    await bench.rollback();
    await expect(bench.rollback()).rejects.toThrow('there is nothing to return to');
    expect(await bench.rows()).toHaveLength(5);
  });

  test('after a rollback the next import counts against what is there', async () => {
    await bench.importText(csv(0, 10));
    await bench.importText(csv(10, 20));
    const { index } = await bench.rollback();
    const report = await bench.importText(csv(5, 15));
    expect(report).toMatchObject({ read: 10, imported: 5, unchanged: 5 });
    expect(await bench.status()).toMatchObject({ previous: index, documents: 15 });
    await bench.rollback();
    expect(await bench.rows()).toHaveLength(10);
  });

  test('the second one at once is told who holds the lock, and leaves', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: onHeld } = Promise.withResolvers<void>();
    const first = withDirectoryLock({ ...bench.tools, actor: 'cli:maria' }, 'companies import', async () => {
      onHeld();
      await held;
    });
    await isHeld;
    const seconds = [bench.importText(csv(0, 3)), bench.rebuild(), bench.rollback()];
    const outcomes = await Promise.all(seconds.map((second) => second.catch(({ message }) => message)));
    for (const message of outcomes) {
      expect(message).toMatch(
        /^the directory is being changed by cli:maria on .+, process \d+ \(companies import, since 20\d\d-.+Z\): wait/,
      );
    }
    release();
    await first;
    expect(await bench.importText(csv(0, 3))).toMatchObject({ imported: 3 });
  });

  test('a run that loses the connection of its lock changes nothing', async () => {
    await bench.importText(csv(0, 10));
    const before = await bench.status();
    const { sql } = bench.database;
    const path = await bench.write(
      'lost.csv',
      csv(0, 20, (n) => `Perdida ${n}`),
    );
    const current = (await tablesOf(bench)).at(-1)!;
    const failed = await sql.begin(async (blocker) => {
      // The import's comparison waits for it.
      await blocker.unsafe(`LOCK TABLE ${current} IN ACCESS EXCLUSIVE MODE`);
      const importing = bench.importFile(path).then(
        () => 'succeeded',
        (error: Error) => error.message,
      );
      await until('the wait', async () => {
        const killed = await sql`
          SELECT pg_terminate_backend(lock_backend) FROM directory
          WHERE lock_doing = 'companies import'
            AND EXISTS (SELECT FROM pg_locks WHERE pid = lock_backend AND NOT granted)`;
        return killed.length > 0;
      });
      return importing;
    });
    expect(failed).not.toBe('succeeded');
    expect(await bench.status()).toEqual(before);
    expect(await bench.importFile(path)).toMatchObject({ imported: 20 });
    expect(await tablesOf(bench)).toHaveLength(2);
  });
});

test('interrupted at any of its requests to Elasticsearch before the change, a rebuild leaves no index behind', async () => {
  const bench = await createWorkbench('full');
  const client = bench.tools.elasticsearch!;
  /** Rebuilds, and interrupts at the n-th request that is sent once the index is being built. */
  const rebuild = async (n: number) => {
    const controller = new AbortController();
    let sent = 0;
    let isBuilding = false;
    const count = () => {
      if (isBuilding && ++sent === n) controller.abort(new Error('interrupted'));
    };
    client.diagnostic.on('request', count);
    try {
      const phase = (name: string) => {
        isBuilding ||= name === 'indexing';
      };
      await rebuildIndex({ ...bench.tools, signal: controller.signal }, { ...NO_PROGRESS, phase });
      return 'succeeded';
    } catch (error) {
      return (error as Error).message;
    } finally {
      client.diagnostic.off('request', count);
    }
  };
  try {
    // The check of the index searches for one row, and has no longer prefix to search for.
    await bench.importText(csv(0, 1, () => 'A'));
    const indices = await indicesOf(bench);
    let interrupted = 0;
    while ((await rebuild(interrupted + 1)) === 'interrupted') {
      interrupted++;
      expect(await indicesOf(bench)).toEqual(indices);
    }
    // Creating, loading, merging, refreshing and checking are a request each, at least.
    expect(interrupted).toBeGreaterThanOrEqual(5);
    expect(await indicesOf(bench)).not.toEqual(indices);
  } finally {
    await bench.close();
  }
});

test('an index that is built whole is one segment: a search looks into each', async () => {
  const bench = await createWorkbench('full');
  try {
    // Three bulk requests, which Elasticsearch writes side by side: each is of 100 pages of the table, here of some 500 rows.
    const { index } = await bench.importText(csv(0, 1_500, (n) => `Empresa ${n} ${'Lda '.repeat(110)}`));
    const { indices } = await bench.tools.elasticsearch!.indices.segments({ index });
    const shards = Object.values(indices).flatMap(({ shards }) => Object.values(shards).flat());
    expect(shards.map(({ segments }) => Object.keys(segments).length)).toEqual([1]);
  } finally {
    await bench.close();
  }
});

test('an index whose documents are not what the rows say is refused before searches go to it', async () => {
  const bench = await createWorkbench('full');
  const client = bench.tools.elasticsearch!;
  try {
    // Longer than an n-gram, so that it is looked for in both ways.
    const name = 'Padaria Central de Santa Maria da Feira, Lda';
    await bench.importText(`nif,legal_name\n${nif(1)},"${name}"\n`);
    const { current } = await readDirectory(bench.tools.sql);
    const right = searchDocument(directoryRow(nif(1), name));
    const check = async (label: string, document: SearchDocument) => {
      const index = `${bench.alias}-${label}`;
      await createIndex(client, index, { directory: '', generation: 0, fingerprint: '' });
      await client.index({ index, document, refresh: true });
      return checkIndex(client, bench.tools.sql, index, current, bench.tools.signal);
    };
    await check('right', right);
    const refused = `the new index doesn't find NIF ${nif(1)}`;
    await expect(check('nif', { ...right, nif: nif(2) })).rejects.toThrow(`${refused} by its NIF`);
    await expect(check('entry', searchDocument(directoryRow(nif(1), 'Talho')))).rejects.toThrow(
      `${refused} by its NIF`,
    );
    const other = { ...right, normalized_name: 'talho' };
    await expect(check('name', other)).rejects.toThrow(
      `${refused} by "${right.normalized_name.slice(0, 24)}"`,
    );
    const cut = { ...right, normalized_name: right.normalized_name.slice(0, 24) };
    await expect(check('cut', cut)).rejects.toThrow(`${refused} by "${right.normalized_name}"`);
  } finally {
    await bench.close();
  }
});

describe('start of a server', () => {
  let bench: Workbench;
  afterEach(() => bench.close());

  test('full: an empty directory needs no index, and none is made', async () => {
    bench = await createWorkbench('full');
    expect(await ensureSearchable(bench.tools)).toEqual({ warning: null });
    const { elasticsearch, sql } = bench.tools;
    const search = searchOf(sql, elasticsearch!);
    expect(await searchEntries(search, 'empresa')).toEqual([]);
    expect(await indicesOf(bench)).toEqual([]);
  });

  test('full: an index of another mapping is noticed, and a rebuild brings it up to date', async () => {
    bench = await createWorkbench('full');
    const { index } = await bench.importText(csv(0, 10));
    const client = bench.tools.elasticsearch!;
    const mapping = await client.indices.getMapping({ index });
    const _meta = { ...mapping[index]!.mappings._meta, fingerprint: 'another' };
    await client.indices.putMapping({ index, _meta });
    expect(await ensureSearchable(bench.tools)).toEqual({
      warning: 'the search index was built by another version: run "index rebuild"',
    });
    await bench.rebuild();
    expect(await ensureSearchable(bench.tools)).toEqual({ warning: null });
  });

  test('embedded: a directory that was loaded with an Elasticsearch gets its search indexes', async () => {
    bench = await createWorkbench('full');
    await bench.importText(csv(0, 10));
    await bench.importText(csv(10, 20));
    const { elasticsearch } = bench.tools;
    bench.tools.elasticsearch = null;
    try {
      expect(await warningOf(bench.tools)).not.toBeNull();
      expect(await ensureSearchable(bench.tools)).toEqual({ warning: null });
      expect(await bench.search('empresa 00001')).toHaveLength(10);
      await bench.rollback();
      expect(await ensureSearchable(bench.tools)).toEqual({ warning: null });
    } finally {
      bench.tools.elasticsearch = elasticsearch;
    }
  });
});
