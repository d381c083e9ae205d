import { afterEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { bareEnvironment, ROOT } from '../support/command.ts';
import { testServers } from '../support/database.ts';
import { createWorkbench, csv, indicesOf, MODES, nif, tablesOf, type Workbench } from './support.ts';

/** Moments at which a process is killed; half of them imports, half of them rebuilds. Both modes: twenty. */
const ROUNDS = 10;
const ROWS = 4_000;

function start({ database, alias, mode }: Workbench, ...words: string[]) {
  return Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), ...words], {
    cwd: ROOT,
    env: {
      ...bareEnvironment(),
      DATABASE_URL: database.url,
      ...(mode === 'full'
        ? { ELASTICSEARCH_URL: testServers().elasticsearchUrl, ELASTICSEARCH_ALIAS: alias }
        : {}),
    },
    stdout: 'pipe',
    stderr: 'pipe',
  });
}

for (const mode of MODES) {
  describe(`kill -9, ${mode}`, () => {
    let bench: Workbench;
    afterEach(() => bench.close());

    test('leaves readers with a whole directory at any moment, and the next run cleans up and succeeds', async () => {
      bench = await createWorkbench(mode);
      const file = (name: string) =>
        bench.write(
          `${name}.csv`,
          csv(0, ROWS, (n) => `${name} ${n}`),
        );
      // A JSON document under other names, as public datasets have them.
      const document = (name: string) =>
        bench.write(
          `${name}.json`,
          JSON.stringify({
            list: Array.from({ length: ROWS }, (_, n) => ({ id: nif(n), is: { named: `${name} ${n}` } })),
          }),
        );
      const documentOptions = ['--list', 'list', '--columns', 'nif=id,legal_name=is.named'];
      let served = 'Primeira';
      await bench.importFile(await file(served));
      // How long a whole run takes here, from the start of the process.
      const startedAt = performance.now();
      const whole = start(bench, 'companies', 'import', await file('Medida'), '--json');
      expect(await whole.exited).toBe(0);
      served = 'Medida';
      const wholeMs = performance.now() - startedAt;

      let killed = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const next = `Volta${round}`;
        const isRebuild = round % 2 === 1;
        const words = isRebuild
          ? ['index', 'rebuild']
          : round % 4 === 0
            ? ['companies', 'import', await document(next), ...documentOptions]
            : ['companies', 'import', await file(next)];
        const child = start(bench, ...words);
        await Bun.sleep(wholeMs * (0.15 + 0.85 * Math.random()));
        child.kill('SIGKILL');
        await child.exited;
        if (child.signalCode === 'SIGKILL') killed++;

        const found = [await bench.search(served), await bench.search(next)];
        // Twenty names of one directory, none of the other.
        expect(found.map((names) => names.length).toSorted((a, b) => a - b)).toEqual([0, 20]);
        if (found[1]!.length > 0) served = next;
      }
      expect(killed).toBeGreaterThan(ROUNDS / 3);
      const { imported } = await bench.importFile(await file('Última'));
      expect(imported).toBe(ROWS);
      expect(await bench.search('Última')).toHaveLength(20);
      expect(await tablesOf(bench)).toHaveLength(2);
      const { index, previous, documents } = await bench.status();
      expect(documents).toBe(ROWS);
      if (mode === 'full') expect(await indicesOf(bench)).toEqual([index, previous!].toSorted());
    }, 60_000);
  });
}
