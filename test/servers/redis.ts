import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from './lock.ts';
import { mayInstall } from './may-install.ts';
import type { NativeContext } from './native.ts';
import { startOnFreePort } from './ports.ts';
import { run, startProcess } from './processes.ts';
import type { StartRequest } from './servers.ts';

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const INSTALL_TIMEOUT_MS = 5 * 60_000;

/**
 * Makes sure that there is a `redis-server`: as root on Debian and its relatives it is installed when missing and
 * allowed, without starting the system's service.
 * @returns undefined, or what is missing.
 */
export async function ensureRedis(cache: string, say: (line: string) => void): Promise<string | undefined> {
  if (Bun.which('redis-server')) return undefined;
  if (process.getuid?.() !== 0 || !Bun.which('apt-get')) return 'no redis-server found';
  if (!mayInstall()) return 'no redis-server found (TEST_INSTALL=yes lets the tests install it with apt-get)';
  return withLock(
    join(cache, 'apt.lock'),
    () => say('waiting for another run that installs redis-server'),
    async () => {
      if (Bun.which('redis-server')) return undefined;
      say('installing redis-server with apt-get');
      try {
        await withoutServiceStart(installRedis);
      } catch (error) {
        return `redis-server could not be installed (${String((error as Error).message)
          .split('\n')
          .at(-1)})`;
      }
      return Bun.which('redis-server') ? undefined : 'no redis-server found';
    },
  );
}

/** Starts a Redis and resolves with its URL once it answers. Benchmarks get the settings of docker-compose.yml, tests no file. */
export async function startRedis(
  context: NativeContext,
  { purpose }: Pick<StartRequest, 'purpose'>,
): Promise<string> {
  const folder = join(context.runFolder, 'redis');
  await mkdir(folder, { recursive: true });
  const port = await startOnFreePort('Redis', (port) => {
    const server = startProcess({
      command: Bun.which('redis-server') ?? 'redis-server',
      args: [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
        ...(purpose === 'benchmarks'
          ? ['--appendonly', 'yes', '--maxmemory', '256mb']
          : ['--save', '', '--appendonly', 'no']),
        ...['--maxmemory-policy', 'noeviction'],
      ],
    });
    context.own(server, 'SIGKILL');
    return { server, isReady: () => givesPong(`redis://127.0.0.1:${port}`) };
  });
  return `redis://127.0.0.1:${port}`;
}

/** Whether the Redis at `url` serves requests. */
async function givesPong(url: string): Promise<boolean> {
  const client = new Bun.RedisClient(url, { connectionTimeout: 1000, autoReconnect: false });
  const pong = await client.send('PING', []).catch(() => undefined);
  client.close();
  return pong === 'PONG';
}

async function installRedis(): Promise<void> {
  for (const words of [['update'], ['install', '--no-install-recommends', 'redis-server']]) {
    const args = ['-q', '-y', '-o', 'DPkg::Lock::Timeout=120', ...words];
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    await run({ command: 'apt-get', args, env }, INSTALL_TIMEOUT_MS);
  }
}

/**
 * Debian starts a service as soon as its package is installed, unless this policy file says no. It only says no while
 * this process lives, so a run that is killed in between leaves nothing that has an effect.
 */
async function withoutServiceStart(work: () => Promise<void>): Promise<void> {
  if (existsSync(POLICY_FILE)) return work();
  writeFileSync(POLICY_FILE, `#!/bin/sh\nkill -0 ${process.pid} 2>/dev/null && exit 101\nexit 0\n`);
  chmodSync(POLICY_FILE, 0o755);
  try {
    await work();
  } finally {
    rmSync(POLICY_FILE, { force: true });
  }
}
