import { expect, test } from 'bun:test';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder } from '../support/folder.ts';
import { packagedChromium } from './chromium.ts';

test('two runs on a new machine unpack Chromium once, whole, and without what a killed run left', async () => {
  const cache = createFolder('chromium');
  await mkdir(join(cache, 'chromium-partial-killed'));
  const [one, other] = await Promise.all([packagedChromium(cache), packagedChromium(cache)]);
  expect(one).toBe(other);
  expect((await readdir(cache)).filter((name) => !name.includes('lock'))).toEqual([
    expect.stringMatching(/^chromium-\d/),
  ]);
  // The program's size, far above that of a part.
  expect((await stat(one)).size).toBeGreaterThan(100_000_000);
});
