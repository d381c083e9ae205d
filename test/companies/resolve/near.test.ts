/** Names that are no company of the directory, made from it (bench/lib/name-sets.ts): none is clear by another company's word. */
import { expect, test } from 'bun:test';
import { halfOf, NEAR_KINDS, nearNames } from '../../../bench/lib/name-sets.ts';
import { directoryEntry } from '../../../src/companies/search/document.ts';
import { resolveAmong } from '../../../src/companies/test-world/memory-reader.ts';
import real from './real-names.json' with { type: 'json' };

const names = real.directory.map(([, name]) => name!);

/** Those of some names that are clear in a directory of other names. */
async function clearOnes(asked: string[], directory: string[]): Promise<string[]> {
  const rows = directory.map((name, at) => directoryEntry(String(500_000_000 + at), name));
  rows.sort((one, other) => (one.sortKey < other.sortKey ? -1 : 1));
  const clear: string[] = [];
  for (const name of asked) {
    const { clear: isClear, candidates } = await resolveAmong(rows, name);
    if (isClear) clear.push(`${name} is ${candidates[0]!.legalName}, ${candidates[0]!.extra} extra`);
  }
  return clear;
}

test.each(NEAR_KINDS)('a name is not clear by a word near one of its own: %s', async (kind) => {
  const near = nearNames(names, kind, 100);
  expect(near).toHaveLength(100);
  expect(await clearOnes(near, names)).toEqual([]);
});

test('of the names that half of the directory lacks none is clear without extra words', async () => {
  const { kept, absent } = halfOf(names, (name) => name, 200);
  expect(absent).toHaveLength(200);
  expect((await clearOnes(absent, kept)).filter((one) => one.endsWith(', 0 extra'))).toEqual([]);
});
