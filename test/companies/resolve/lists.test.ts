/** The load of a list of names on the directory and the process: it never crowds out other lists and calls. */
import { expect, test } from 'bun:test';
import { companyOf, type Resolve, resolveNames } from '../../../src/companies/resolve/resolve.ts';
import { createResolutionsHandler } from '../../../src/companies/resolve/route.ts';
import { type CallContext, NOTHING_PAID } from '../../../src/metering/admission/quote.ts';

const NOTHING = companyOf(undefined);

function startLists(resolve: Resolve) {
  const readLeft = async () => 1000;
  const handler = createResolutionsHandler({ publicUrl: 'http://service', resolve, readLeft });
  return async (account: string, names: string[]): Promise<{ data: { name: string; status: number }[] }> => {
    const context = { caller: { accountId: account } } as CallContext;
    const quote = await handler.quote({ names }, context);
    try {
      const answer = await quote.answer({ ...NOTHING_PAID, spent: quote.credits });
      return JSON.parse((answer as { json: string }).json);
    } finally {
      quote.end?.(NOTHING_PAID);
    }
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

test('a failed name has its problem in its place, and the others their answers', async () => {
  const send = startLists(async (name) => {
    if (name === 'bad') throw new Error('failed');
    return NOTHING;
  });
  const { data } = await send('one', ['a', 'bad', 'b']);
  expect(data.map(({ status }) => status)).toEqual([200, 500, 200]);
});

test('the event loop is given back after every name', async () => {
  let [turns, isOver] = [0, false];
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  const entry = { nif: '500000000', legalName: 'Padaria', normalized: 'padaria', sortKey: 'padaria' };
  const reader = {
    rows: 1_000_000,
    count: async (words: string[]) => new Map(words.map((word) => [word, 1])),
    wordsFrom: async () => [],
    find: async (reads: unknown[]) => reads.map(() => [entry]),
  };
  setImmediate(turn);
  const resolutions = await resolveNames(reader, namesOf('padaria'));
  isOver = true;
  expect(resolutions).toHaveLength(100);
  expect(turns).toBeGreaterThanOrEqual(100);
});

test('a list for which there seem to be no credits reads nothing: its charge says why, or it is a free 503', async () => {
  const handler = createResolutionsHandler({
    publicUrl: 'http://service',
    resolve: () => Promise.reject(new Error('a name was read')),
    readLeft: async () => 0,
  });
  const quote = await handler.quote({ names: namesOf('a') }, {
    caller: { accountId: 'acc', isTest: false },
  } as CallContext);
  expect([quote.kind, quote.credits]).toEqual(['resolve', 1]);
  const answer = await quote.answer({ ...NOTHING_PAID, spent: 1 });
  expect(answer.ok ? null : answer.problem.kind).toBe('service-unavailable');
});
