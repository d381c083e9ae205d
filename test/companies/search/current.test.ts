/** The current generation, as searches learn it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import {
  CONFIRMED_MS,
  type CurrentDirectory,
  type CurrentGeneration,
  openCurrent,
} from '../../../src/companies/search/current.ts';
import { csv } from '../../support/companies.ts';
import '../../support/modes.ts';
import { stopClock } from '../../support/stopped-clock.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

let bench: Workbench;
let current: CurrentDirectory;
beforeAll(async () => {
  bench = await createWorkbench('full');
  await importNext();
  current = openCurrent(bench.tools.sql, bench.tools.elasticsearch);
});
afterAll(() => bench.close());
let clock: ReturnType<typeof stopClock> | undefined;
afterEach(() => {
  clock?.restore();
  clock = undefined;
});

let rows = 0;
async function importNext(): Promise<string> {
  rows += 1;
  return (await bench.importText(csv(0, rows))).index;
}

const read = <T>(work: (generation: CurrentGeneration) => Promise<T>, from = current) => from.read(work);
const readIndex = async ({ index }: CurrentGeneration) => index;

test('a read that begins after an import is of its index, also on an instance that knows the one before', async () => {
  const other = openCurrent(bench.tools.sql, bench.tools.elasticsearch);
  expect(await read(readIndex)).toBe((await bench.status()).index);
  await read(readIndex, other);
  const index = await importNext();
  const asked: (string | null)[] = [];
  for (const instance of [current, other, other]) {
    const work = async (generation: CurrentGeneration) => {
      asked.push(generation.index);
      return generation.index;
    };
    expect(await read(work, instance)).toBe(index);
  }
  // Each asks the last known one first, and then no more.
  expect(asked).toEqual([
    expect.not.stringContaining(index),
    index,
    expect.not.stringContaining(index),
    index,
    index,
  ]);
});

test('work that fails while its generation is replaced begins again, and any other failure is told', async () => {
  let attempts = 0;
  const index = await read(async ({ index }) => {
    attempts += 1;
    if (attempts === 1) {
      await importNext();
      throw new Error('the index was removed');
    }
    return index;
  });
  expect([attempts, index]).toEqual([2, (await bench.status()).index]);
  await expect(read(() => Promise.reject(new Error('of itself')))).rejects.toThrow('of itself');
});

test('a generation is confirmed for a moment after the beginning of a read, and meanwhile Postgres is not asked', async () => {
  clock = stopClock();
  const readId = async ({ id }: CurrentGeneration) => id;
  let asked = 0;
  const { sql } = bench.tools;
  const counting = new Proxy(sql, {
    apply(target, self, args) {
      asked += 1;
      return Reflect.apply(target, self, args);
    },
  });
  const counted = openCurrent(counting, bench.tools.elasticsearch);
  expect(counted.confirmed()).toBeNull();
  const id = await read(readId, counted);
  expect([await read(readId, counted), counted.confirmed(), asked]).toEqual([id, id, 1]);
  clock.pass(CONFIRMED_MS);
  expect(counted.confirmed()).toBeNull();
  expect([await read(readId, counted), counted.confirmed(), asked]).toEqual([id, id, 2]);
});

test('a change ends only when no instance confirms the generation before', async () => {
  await read(readIndex);
  await importNext();
  expect(current.confirmed()).toBeNull();
});

test('a lost index, one of another directory, and none are no index', async () => {
  const { index } = await bench.status();
  const client = bench.tools.elasticsearch!;
  const { sql } = bench.tools;
  /** As an instance that starts now. */
  const ask = () => read(readIndex, openCurrent(sql, client));
  const other = `${bench.alias}-other`;
  await client.indices.create({ index: other, mappings: { _meta: { directory: 'another' } } });
  for (const named of [`${bench.alias}-lost`, other, null]) {
    await sql`UPDATE directory_generations SET index_name = ${named} WHERE index_name = ${index}`;
    expect(await ask()).toBeNull();
    await sql`
      UPDATE directory_generations SET index_name = ${index} WHERE id = (SELECT current FROM directory)`;
    expect(await ask()).toBe(index);
  }
});
