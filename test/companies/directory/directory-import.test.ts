import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { importCompanies } from '../../../src/companies/directory/directory-import.ts';
import { readDirectory } from '../../../src/companies/directory/generations.ts';
import { rebuildIndex } from '../../../src/companies/directory/rebuild.ts';
import { tidyNow } from '../../../src/companies/directory/tidy.ts';
import { messageOf } from '../../../src/platform/errors.ts';
import type { Progress } from '../../../src/platform/terminal/progress.ts';
import { countMessages, killCommandAt } from '../../support/command.ts';
import { csv, nif } from '../../support/companies.ts';
import { elasticsearchUrl } from '../../support/elasticsearch.ts';
import { MODES } from '../../support/modes.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { until } from '../../support/until.ts';
import {
  createWorkbench,
  indicesOf,
  tablesOf,
  vocabulariesOf,
  type Workbench,
} from '../../support/workbench.ts';

/** Moments at which a process is killed. */
const KILLS = 9;

const nameOf = (n: number) => `Empresa ${String(n).padStart(6, '0')}`;

for (const mode of MODES) {
  describe(`companies import, ${mode}`, () => {
    let bench: Workbench;
    beforeEach(async () => {
      bench = await createWorkbench(mode);
    });
    afterEach(() => bench.close());

    test('adds and updates rows, with --replace removes the others, counts them, and keeps one directory before', async () => {
      expect(await bench.importText(csv(0, 100))).toMatchObject({ read: 100, imported: 100, unchanged: 0 });
      expect(await bench.search('empresa')).toEqual(
        Array.from({ length: 20 }, (_, n) => `${nif(n)} ${nameOf(n)}`),
      );
      const second = await bench.importText(csv(98, 103, (n) => (n === 99 ? 'Renomeada, Lda' : nameOf(n))));
      expect(second).toMatchObject({ read: 5, imported: 4, unchanged: 1, rejected: 0, removed: 0 });
      expect(await bench.search('renomeada')).toEqual([`${nif(99)} Renomeada, Lda`]);
      expect(await bench.search('empresa 000099')).toEqual([]);
      expect(await bench.search('empresa 000102')).toEqual([`${nif(102)} ${nameOf(102)}`]);

      const text = csv(5, 103, (n) => (n === 6 ? 'Outra' : nameOf(n)));
      const third = await bench.importText(text, { replace: true });
      expect(third).toMatchObject({ read: 98, imported: 2, unchanged: 96, rejected: 0, removed: 5 });
      expect(await bench.search('empresa 00000')).toEqual([5, 7, 8, 9].map((n) => `${nif(n)} ${nameOf(n)}`));
      expect(await bench.rows()).toHaveLength(98);
      const status = { index: third.index, previous: second.index, documents: 98 };
      expect(await bench.status()).toEqual(status);
      const tables = await tablesOf(bench);
      expect(tables).toHaveLength(2);
      const names = mode === 'full' ? await indicesOf(bench) : tables;
      expect(names).toEqual([second.index, third.index].toSorted());

      const again = await bench.importText(text, { replace: true });
      expect(again).toMatchObject({ read: 98, imported: 0, unchanged: 98, index: third.index });
      expect([await bench.status(), await tablesOf(bench)]).toEqual([status, tables]);
    });

    test('interrupted at any moment, it changes nothing and leaves nothing behind', async () => {
      await bench.importText(csv(0, 10));
      const before = await bench.status();
      const path = await bench.write(
        'large.csv',
        csv(0, 1_000, (n) => `Interrompida ${n}`),
      );
      let notes: string[] = [];
      /** Imports, and interrupts at the n-th sign of progress or request to Elasticsearch. */
      const importUntil = async (n: number) => {
        const controller = new AbortController();
        let signs = 0;
        notes = [];
        const sign = () => {
          if (++signs === n) controller.abort(new Error('interrupted'));
        };
        const note = (line: string) => void notes.push(line);
        const diagnostic = bench.tools.elasticsearch?.diagnostic;
        diagnostic?.on('request', sign);
        const progress: Progress = { ...NO_PROGRESS, phase: sign, update: sign, note };
        const tools = { ...bench.tools, signal: controller.signal };
        const importing = importCompanies(tools, { path }, {}, progress);
        const outcome = await importing.then(() => 'succeeded', messageOf);
        diagnostic?.off('request', sign);
        return outcome;
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
      // Creating, loading, merging, refreshing and checking an index are a request each, at least.
      expect(interrupted).toBeGreaterThan(mode === 'full' ? 8 : 3);
      expect((await bench.status()).documents).toBe(1_000);
      // It is a whole import for each sign.
    }, 120_000);

    test('killed at any moment, it leaves readers with a whole directory, and the next run cleans up and succeeds', async () => {
      const env = {
        DATABASE_URL: bench.database.url,
        ...(mode === 'full'
          ? { ELASTICSEARCH_URL: elasticsearchUrl, ELASTICSEARCH_PREFIX: bench.alias }
          : {}),
      };
      const ROWS = 1_000;
      const file = (name: string) =>
        bench.write(
          `${name}.csv`,
          csv(0, ROWS, (n) => `${name} ${n}`),
        );
      // JSON Lines under other names, as public datasets have them.
      const lines = (name: string) => {
        const rows = Array.from({ length: ROWS }, (_, n) => ({ id: nif(n), is: { named: `${name} ${n}` } }));
        return bench.write(`${name}.jsonl`, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      };
      const ways: ((next: string) => Promise<string[]>)[] = [
        async (next) => ['companies', 'import', await lines(next), '--columns', 'nif=id,legal_name=is.named'],
        async () => ['index', 'rebuild'],
        async (next) => ['companies', 'import', await file(next)],
      ];
      await bench.importFile(await file('Primeira'));
      const totals: number[] = [];
      for (const way of ways) totals.push(await countMessages(env, ...(await way('Medida'))));
      const names = ['Medida'];

      for (let round = 0; round < KILLS; round++) {
        const next = `Volta${round}`;
        const way = round % ways.length;
        const moment = { fraction: round / KILLS, total: totals[way]! };
        await killCommandAt(moment, env, ...(await ways[way]!(next)));
        // The search finds the twenty names of one directory and none of another: the one before the run, or that of the run.
        names.push(next);
        const found = await Promise.all(names.map((name) => bench.search(name)));
        expect(found.map((hits) => hits.length).filter((hits) => hits > 0)).toEqual([20]);
        // No directory comes back.
        names.splice(
          0,
          found.findIndex((hits) => hits.length > 0),
        );
      }
      const { imported } = await bench.importFile(await file('Última'));
      expect(imported).toBe(ROWS);
      expect(await bench.search('Última')).toHaveLength(20);
      const tables = await tablesOf(bench);
      expect(tables).toHaveLength(2);
      expect(await vocabulariesOf(bench)).toEqual(tables.map((table) => `${table}_vocabulary`));
      const { index, previous, documents } = await bench.status();
      expect(documents).toBe(ROWS);
      if (mode === 'full') expect(await indicesOf(bench)).toEqual([index, previous!].toSorted());
    });

    test('each phase comes once, and an interruption behind the change is too late: the import is done, and answers', async () => {
      const seen: string[] = [];
      let controller = new AbortController();
      const progress: Progress = {
        ...NO_PROGRESS,
        phase: (name) => void seen.push(name),
        note(line) {
          seen.push(`note: ${line}`);
          if (line === 'searches see the new directory') controller.abort(new Error('interrupted'));
        },
      };
      for (const [rows, imported] of [
        [50, 50],
        [51, 1],
        [90, 39],
      ] as const) {
        seen.length = 0;
        controller = new AbortController();
        const path = await bench.write(`${rows}.csv`, csv(0, rows));
        const tools = { ...bench.tools, signal: controller.signal };
        expect(await importCompanies(tools, { path }, {}, progress)).toMatchObject({ imported });
        expect((await bench.status()).documents).toBe(rows);
        expect(seen.slice(0, 3)).toEqual([`reading ${path}`, 'comparing', 'storing the rows']);
        expect(seen.slice(3).some((name) => /index/.test(name))).toBe(true);
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.slice(-2)).toEqual(['note: searches see the new directory', 'removing what is old']);
      }
      expect(await bench.search('empresa')).toHaveLength(20);
      seen.length = 0;
      await rebuildIndex(bench.tools, progress);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.slice(-2)).toEqual(['note: searches go to the new index', 'removing what is old']);
    });
  });
}

describe('companies import, with or without Elasticsearch', () => {
  let bench: Workbench;
  beforeEach(async () => {
    bench = await createWorkbench('postgres');
  });
  afterEach(() => bench.close());

  test('backslashes, quotes, escapes of COPY and JSON, and text beyond the BMP arrive as they are', async () => {
    const names = [
      'A\\tB \\N \\.',
      'Aspas "duplas"',
      '\\',
      'É 𝔘nicode 😀',
      '{"index":{}}',
      "'; DROP TABLE x; --",
    ];
    await bench.importText(csv(0, names.length, (n) => names[n]!));
    expect(await bench.rows()).toEqual(names.map((name, n) => `${nif(n)} ${name}`));
  });

  test('rows lie in the order of results after imports of many and of few names, and after a rebuild', async () => {
    const { sql } = bench.database;
    const expectOrder = async (rows: number) => {
      const { table } = (await readDirectory(sql)).current;
      const lying = await sql<{ nif: string }[]>`SELECT nif FROM ${sql(table)} ORDER BY ctid`;
      const ordered = await sql<{ nif: string }[]>`SELECT nif FROM ${sql(table)} ORDER BY sort_key, nif`;
      expect([lying.length, [...lying]]).toEqual([rows, [...ordered]]);
    };
    await bench.importText(csv(0, 200, (n) => `Empresa ${(n * 7) % 200}`));
    await expectOrder(200);
    await bench.importText(csv(100, 101, () => 'Abelha'));
    await expectOrder(200);
    await bench.importText(csv(200, 202, (n) => `Abelha ${n}`));
    await expectOrder(202);
    // As another version may have normalized them: a rebuild puts them in their order.
    const { table } = (await readDirectory(sql)).current;
    await sql`UPDATE ${sql(table)} SET sort_key = nif`;
    await bench.rebuild();
    await expectOrder(202);
  });

  test('a --replace with under 90% of the present rows is refused unless --force', async () => {
    await bench.importText(csv(0, 100));
    const before = [await bench.rows(), await bench.status()];
    await expect(bench.importText(csv(0, 89), { replace: true })).rejects.toThrow(
      "the file has 89 usable rows, under 90% of the directory's 100: nothing has changed; --force replaces",
    );
    expect([await bench.rows(), await bench.status()]).toEqual(before);
    await bench.importText(csv(0, 90), { replace: true });
    await bench.importText(csv(0, 2), { replace: true, force: true });
    expect(await bench.search('empresa')).toHaveLength(2);
  });

  test('rows that can not be used are rejected with their reason, and the rest goes in', async () => {
    const rejects = bench.path('rejects.csv');
    const rows = [
      `${nif(1)},Boa`,
      '12345678,Oito dígitos',
      `${Number(nif(2)) ^ 1},Dígito de controlo`,
      `${nif(3)},"   "`,
      `${nif(4)},${'x'.repeat(501)}`,
      `${nif(5)},${'😀'.repeat(500)}`,
      `${nif(6).replace(/(...)(...)(...)/, '$1 $2.$3')},Com separadores`,
      `PT${nif(7)},Com país`,
      `${nif(8)},"Com\ttabulador"`,
    ];
    const report = await bench.importText(`nif,legal_name\n${rows.join('\n')}\n`, { rejects });
    expect(report).toMatchObject({ read: 9, imported: 5, unchanged: 0, rejected: 4 });
    expect(report.reasons).toEqual({
      'NIF is not nine digits': 1,
      'NIF has a wrong check digit': 1,
      'no name': 1,
      'name over 500 characters': 1,
    });
    const lines = (await Bun.file(rejects).text()).trimEnd().split('\n');
    expect(lines.map((line) => line.split(',')[0])).toEqual(['line', '3', '4', '5', '6']);
    expect(await bench.rows()).toEqual([
      `${nif(1)} Boa`,
      `${nif(5)} ${'😀'.repeat(500)}`,
      `${nif(6)} Com separadores`,
      `${nif(7)} Com país`,
      `${nif(8)} Com tabulador`,
    ]);
  });

  test('when every row is rejected, or there is none, nothing changes', async () => {
    await bench.importText(csv(0, 10));
    const rejects = bench.path('rejects.csv');
    const options = { replace: true, force: true, rejects };
    await expect(bench.importText('nif,legal_name\n1,a\n2,b\n', options)).rejects.toThrow(
      'none of the 2 rows can be used (2 times: NIF is not nine digits): nothing has changed',
    );
    expect(await Bun.file(rejects).text()).toContain('3,"NIF is not nine digits","2,b"');
    await expect(bench.importText('nif,legal_name\n', options)).rejects.toThrow(
      'the file has no rows: nothing has changed',
    );
    expect(await bench.search('empresa')).toHaveLength(10);
  });
});
