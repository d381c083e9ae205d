import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import packageJson from '../../package.json';
import { cacheFolder } from '../servers/folders.ts';
import { withLock } from '../servers/lock.ts';
import { ROOT } from '../support/command.ts';

const VERSION = packageJson.devDependencies['@sparticuz/chromium'];
const PARTIAL = 'chromium-partial-';

/**
 * The path of the packaged Chromium, which is unpacked once for all runs. By itself the package unpacks into the temporary folder: two
 * processes at once find a half-written program there, and a program that another user put there would run.
 */
export async function packagedChromium(): Promise<string> {
  const cache = cacheFolder(undefined);
  const home = join(cache, `chromium-${VERSION}`);
  await withLock(
    join(cache, 'chromium.lock'),
    () => {},
    async () => {
      if (existsSync(home)) return;
      const killed = (await readdir(cache)).filter((name) => name.startsWith(PARTIAL));
      for (const name of killed) await rm(join(cache, name), { recursive: true });
      const partial = await mkdtemp(join(cache, PARTIAL));
      const unpacking = Bun.spawn([process.execPath, import.meta.path], {
        cwd: ROOT,
        env: { ...process.env, TMPDIR: partial },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      if ((await unpacking.exited) !== 0) throw new Error('the packaged Chromium could not be unpacked');
      await rename(partial, home);
    },
  );
  return join(home, 'chromium');
}

if (import.meta.main) await chromium.executablePath();
