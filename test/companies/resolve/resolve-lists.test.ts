/** The load of a list of names on the directory and the process: it never crowds out other lists and calls. */
import { expect, jest, test } from 'bun:test';
import { companyOf, type Resolve, resolveNames } from '../../../src/companies/resolve/resolve.ts';
import { createNameResolver } from '../../../src/companies/resolve/resolve-open.ts';
import type { DirectoryReader } from '../../../src/companies/resolve/resolve-reader.ts';
import { createResolutionsHandler } from '../../../src/companies/resolve/resolve-route.ts';
import type { DirectoryEntry } from '../../../src/companies/search/document.ts';
import { SECOND } from '../../../src/platform/units.ts';
import { CALLER, paid, runHandler } from '../../support/handler.ts';
import { stopClock } from '../../support/stopped-clock.ts';

const NOTHING = companyOf(undefined);

function startLists(resolve: Resolve) {
  const readLeft = async () => 1000;
  const handler = createResolutionsHandler({ publicUrl: 'http://service', resolve, readLeft });
  return async (
    accountId: string,
    names: string[],
  ): Promise<{ data: { name: string; status: number }[] }> => {
    const answer = await runHandler(handler, { names }, { caller: { ...CALLER, accountId } });
    return JSON.parse((answer as { json: string }).json);
  };
}

const namesOf = (mark: string) => Array.from({ length: 100 }, (_, n) => `${mark} ${n}`);

test('of a list at most four names are asked at once, equal ones once, and each has its place', async () => {
  let [running, most] = [0, 0];
  const asked: string[] = [];
  const send = startLists(async (name) => {
    asked.push(name);
    most = Math.max(most, ++running);
    await Bun.sleep(0);
    running -= 1;
    return NOTHING;
  });
  const names = [...namesOf('a').slice(0, 50), ' ', ...namesOf('a').slice(0, 49)];
  const { data } = await send('one', names);
  expect(data.map(({ name, status }) => [name, status])).toEqual(
    names.map((name) => [name, name === ' ' ? 400 : 200]),
  );
  expect([asked, most]).toEqual([namesOf('a').slice(0, 50), 4]);
});

test("an account's second list waits for its first, and another account's list does not", async () => {
  const ends: string[] = [];
  const send = startLists(async () => {
    await Bun.sleep(0);
    return NOTHING;
  });
  const end = async (account: string, mark: string, names: string[]) => {
    await send(account, names);
    ends.push(mark);
  };
  await Promise.all([
    end('crowd', 'first', namesOf('a')),
    end('crowd', 'second', namesOf('b')),
    end('crowd', 'third', namesOf('c')),
    end('other', 'other', ['d']),
  ]);
  expect(ends).toEqual(['other', 'first', 'second', 'third']);
});

test('a list that waits over 3 s for another of its account is refused', async () => {
  const first = Promise.withResolvers<typeof NOTHING>();
  const send = startLists((name) => (name === 'first' ? first.promise : Promise.resolve(NOTHING)));
  const turn = setImmediate;
  jest.useFakeTimers();
  const answers = [send('one', ['first']), send('one', ['second'])];
  await new Promise(turn);
  jest.advanceTimersByTime(3 * SECOND + 1);
  jest.useRealTimers();
  first.resolve(NOTHING);
  const [answered, refused] = await Promise.allSettled(answers);
  expect([answered!.status, refused!.status]).toEqual(['fulfilled', 'rejected']);
});

test('names that have not begun after 8 s are unavailable in their place', async () => {
  const clock = stopClock();
  const send = startLists(async () => {
    clock.pass(3 * SECOND);
    return NOTHING;
  });
  const { data } = await send('one', namesOf('a').slice(0, 6)).finally(clock.restore);
  expect(data.map(({ status }) => status)).toEqual([200, 200, 200, 200, 503, 503]);
});

test('a list for which there seem to be no credits reads nothing: its charge says why, or its items are free 503s', async () => {
  const handler = createResolutionsHandler({
    publicUrl: 'http://service',
    resolve: () => Promise.reject(new Error('a name was read')),
    readLeft: async () => 0,
  });
  const moved: number[] = [];
  const pay = (credits: number) => {
    moved.push(credits);
    return { ...paid(credits), refund: (unused: number) => void moved.push(unused) };
  };
  const answer = await runHandler(handler, { names: namesOf('a') }, { pay });
  const { data } = JSON.parse((answer as { json: string }).json);
  expect(data.map(({ status }: { status: number }) => status)).toEqual(Array(100).fill(503));
  expect(moved).toEqual([1, 1]);
});

/** A directory whose words and entries are one, or nothing; with the words that were counted at once, and a call for each look. */
function directoryOf(entries: DirectoryEntry[] = [], look = async () => {}) {
  const counted: string[][] = [];
  const reader: DirectoryReader = {
    rows: 1_000_000,
    async count(words) {
      counted.push(words);
      await look();
      return new Map(entries.length === 0 ? [] : words.map((word) => [word, 1]));
    },
    wordsFrom: async () => [],
    find: async (reads) => reads.map(() => [...entries]),
  };
  return { reader, counted };
}

/** The turns of the event loop that the resolution of some names leaves to others. */
async function turnsOf(reader: DirectoryReader, names: string[]): Promise<number> {
  let [turns, isOver] = [0, false];
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  expect(await resolveNames(reader, names)).toHaveLength(names.length);
  isOver = true;
  return turns;
}

const letters = (count: number, first: string) => first.repeat(count - 1) + 'q';

test("the event loop is given back after every name, and after each word's edits, of which a name has four", async () => {
  const entry = { nif: '500000000', legalName: 'Padaria', normalized: 'padaria', sortKey: 'padaria' };
  expect(await turnsOf(directoryOf([entry]).reader, namesOf('padaria'))).toBeGreaterThanOrEqual(100);
  const { reader, counted } = directoryOf();
  const words = [...'abcdefghijkl'].map((first) => letters(16, first));
  // Eight words, and two names.
  const turns = await turnsOf(reader, [words.join(' '), words.toReversed().join(' ')]);
  expect(turns).toBeGreaterThanOrEqual(10);
  expect(Math.max(...counted.map(({ length }) => length))).toBeLessThan(8 * (16 * 53 + 2 * 15));
});

test('near words are sought of words with at most 16 letters, and parts of those with 30', async () => {
  const { reader, counted } = directoryOf();
  for (const count of [16, 17, 30, 31]) await resolveNames(reader, [letters(count, 'a')]);
  const sizes = counted.filter((_, at) => at % 2 === 1).map(({ length }) => length);
  expect(sizes.map((size) => (size > 500 ? 'near' : size > 0 ? 'parts' : 'nothing'))).toEqual([
    'near',
    'parts',
    'parts',
    'nothing',
  ]);
});

test('names of all lists together rest after a batch for as long as it had CPU', async () => {
  let [now, cpu, tookMs] = [0, 0, 0];
  const rests: number[] = [];
  const clock = {
    nowMs: () => now,
    cpuMs: () => cpu,
    async sleep(ms: number) {
      rests.push(ms);
      now += ms;
    },
  };
  const { reader } = directoryOf([], async () => {
    cpu += tookMs / 2;
    now += tookMs;
  });
  const resolve = createNameResolver((work) => work(reader), clock);
  // Each batch looks twice, and takes half of its time in CPU.
  for (tookMs of [10, 40, 0, 20, 20]) await resolve('padaria');
  now += 15;
  await resolve('padaria');
  await resolve('padaria');
  expect(rests).toEqual([10, 40, 20, 5, 20]);
});

test('the CPU time of a batch is that of the process', async () => {
  const cpuMs = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  const looks: number[] = [];
  const { reader } = directoryOf([], async () => {
    const busyUntilMs = cpuMs() + 30;
    if (looks.length === 0) while (cpuMs() < busyUntilMs);
    looks.push(performance.now());
  });
  const resolve = createNameResolver((work) => work(reader));
  for (let name = 0; name < 2; name += 1) await resolve('padaria');
  const [, last, next] = looks;
  // A timer may be early by less than a millisecond.
  expect(next! - last!).toBeGreaterThan(29);
});

test('a short list beside long ones of other accounts waits for one batch of each, not for the lists', async () => {
  let batches = 0;
  const { reader } = directoryOf([], async () => {
    batches += 0.5;
  });
  const send = startLists(createNameResolver((work) => work(reader)));
  const accounts = ['one', 'two', 'three'];
  const ends: string[] = [];
  const long = accounts.map((account) => send(account, namesOf(account)).then(() => ends.push(account)));
  while (batches < 10) await new Promise(setImmediate);
  const before = batches;
  const { data } = await send('fourth', ['padaria']);
  expect(data.map(({ status }) => status)).toEqual([200]);
  expect(batches - before).toBeLessThanOrEqual(accounts.length + 2);
  expect(ends).toEqual([]);
  await Promise.all(long);
  expect(batches).toBeLessThan(80);
});
