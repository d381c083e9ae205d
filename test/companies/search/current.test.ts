/** The current generation, as searches learn it; ../directory/replaced.test.ts and live.test.ts replace it in the middle of their work. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CONFIRMED_MS, type CurrentGeneration, openCurrent } from '../../../src/companies/search/current.ts';
import { csv } from '../../support/companies.ts';
import '../../support/modes.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await createWorkbench('full');
  await bench.importText(csv(0, 1));
});
afterAll(() => bench.close());

/** As an instance that starts now. */
const open = () => openCurrent(bench.tools.sql, bench.tools.elasticsearch);
const readIndex = async ({ index }: CurrentGeneration) => index;

test('a generation is confirmed for a moment after the beginning of a read, and meanwhile Postgres is not asked', async () => {
  const clock = stopClock();
  try {
    let asked = 0;
    const counting = new Proxy(bench.tools.sql, {
      apply(target, self, args) {
        asked += 1;
        return Reflect.apply(target, self, args);
      },
    });
    const current = openCurrent(counting, bench.tools.elasticsearch);
    const readId = () => current.read(async ({ id }) => id);
    expect(current.confirmed()).toBeNull();
    const id = await readId();
    expect([await readId(), current.confirmed(), asked]).toEqual([id, id, 1]);
    clock.pass(CONFIRMED_MS);
    expect(current.confirmed()).toBeNull();
    expect([await readId(), current.confirmed(), asked]).toEqual([id, id, 2]);
  } finally {
    clock.restore();
  }
});

test('a change ends only when no instance confirms the generation before', async () => {
  const current = open();
  await current.read(readIndex);
  await bench.importText(csv(0, 2));
  expect(current.confirmed()).toBeNull();
});

test('a failure that no replacement explains is told', async () => {
  await expect(open().read(() => Promise.reject(new Error('of itself')))).rejects.toThrow('of itself');
});

test('a lost index, one of another directory, and none are no index', async () => {
  const { index } = await bench.status();
  const { sql } = bench.tools;
  const other = `${bench.alias}-other`;
  await bench.tools.elasticsearch!.indices.create({
    index: other,
    mappings: { _meta: { directory: 'another' } },
  });
  for (const named of [`${bench.alias}-lost`, other, null]) {
    await sql`UPDATE directory_generations SET index_name = ${named} WHERE index_name = ${index}`;
    expect(await open().read(readIndex)).toBeNull();
    await sql`
      UPDATE directory_generations SET index_name = ${index} WHERE id = (SELECT current FROM directory)`;
    expect(await open().read(readIndex)).toBe(index);
  }
});
