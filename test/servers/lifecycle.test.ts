import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testServers } from '../support/database.ts';
import { startServers } from './servers.ts';

const UP = join(import.meta.dir, 'up.ts');
const START_TIMEOUT_MS = 180_000;
const STOP_TIMEOUT_MS = 60_000;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'lifecycle-'));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts Postgres and Redis (Elasticsearch comes from this run) from a process of their own with an empty temporary folder. */
function startInProcess(name: string) {
  const temporary = join(folder, name);
  mkdirSync(temporary);
  const starter = Bun.spawn([process.execPath, UP], {
    env: { ...process.env, TMPDIR: temporary, TEST_DATABASE_URL: '', TEST_REDIS_URL: '' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  return { starter, temporary };
}

/** The three lines for a shell, and the ports of Postgres and Redis in them. */
async function whatItPrints({ starter }: { starter: Bun.Subprocess<'ignore', 'pipe'> }) {
  const lines: string[] = [];
  let rest = '';
  for await (const chunk of starter.stdout.pipeThrough(new TextDecoderStream())) {
    rest += chunk;
    lines.push(...rest.split('\n').slice(0, -1));
    rest = rest.slice(rest.lastIndexOf('\n') + 1);
    if (lines.length === 3) break;
  }
  const ports = lines
    .map((line) => /^export TEST_(DATABASE|REDIS)_URL=(.*)$/.exec(line)?.[2])
    .filter((url) => url !== undefined)
    .map((url) => Number(new URL(url).port));
  return { ports, lines };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** Waits for the keeper, which outlives its starter by a moment. */
async function untilNothingIsLeft(ports: number[], temporary: string): Promise<void> {
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  const isLeft = async () =>
    (await Promise.all(ports.map(isListening))).includes(true) || readdirSync(temporary).length > 0;
  while ((await isLeft()) && Date.now() < deadline) await Bun.sleep(20);
}

describe('the test servers', () => {
  for (const signal of ['SIGKILL', 'SIGINT'] as const) {
    test(
      `leave no process and no file behind when the process that started them gets ${signal}`,
      async () => {
        const started = startInProcess(signal);
        const { starter, temporary } = started;
        const { ports, lines } = await whatItPrints(started);
        expect(lines).toContain(`export TEST_ELASTICSEARCH_URL=${testServers().elasticsearchUrl}`);
        expect(ports).toHaveLength(2);
        expect(await Promise.all(ports.map(isListening))).toEqual([true, true]);
        starter.kill(signal);
        await starter.exited;
        await untilNothingIsLeft(ports, temporary);
        expect(await Promise.all(ports.map(isListening))).toEqual([false, false]);
        expect(readdirSync(temporary)).toEqual([]);
      },
      START_TIMEOUT_MS,
    );
  }

  test(
    'leave no file behind when their start is cut off in the middle',
    async () => {
      const { starter, temporary } = startInProcess('cut-off');
      while (readdirSync(temporary).length === 0) await Bun.sleep(5);
      starter.kill('SIGKILL');
      await starter.exited;
      await untilNothingIsLeft([], temporary);
      expect(readdirSync(temporary)).toEqual([]);
    },
    START_TIMEOUT_MS,
  );

  test(
    'are gone when stop resolves',
    async () => {
      const { TEST_REDIS_URL } = process.env;
      delete process.env.TEST_REDIS_URL;
      const servers = await startServers().finally(() => {
        process.env.TEST_REDIS_URL = TEST_REDIS_URL;
      });
      expect(servers.started).toEqual(['redis']);
      const port = Number(new URL(servers.redisUrl).port);
      expect(await isListening(port)).toBe(true);
      await servers.stop();
      expect(await isListening(port)).toBe(false);
      await servers.stop();
    },
    START_TIMEOUT_MS,
  );

  test(
    'are native ones when a Docker engine answers but does not bring them up',
    async () => {
      const path = join(folder, 'docker-that-fails');
      mkdirSync(path);
      const docker = '#!/bin/sh\ncase "$*" in *" up "*) echo "no such image" >&2; exit 1 ;; esac\n';
      writeFileSync(join(path, 'docker'), docker, { mode: 0o755 });
      const starter = Bun.spawn([process.execPath, UP], {
        env: { ...process.env, PATH: `${path}:${process.env.PATH}`, TEST_REDIS_URL: '' },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      const { ports } = await whatItPrints({ starter });
      expect(await isListening(ports.at(-1)!)).toBe(true);
      starter.kill('SIGINT');
      expect(await starter.stderr.text()).toMatch(
        /^starting redis with docker compose\nDocker did not bring .*no such image/,
      );
    },
    START_TIMEOUT_MS,
  );

  test('come from the environment when it names them, and then nothing is started', async () => {
    const servers = await startServers();
    expect(servers).toMatchObject({ ...testServers(), started: [] });
  });

  test('name what is missing in one line, install nothing where that is not allowed, and end with exit code 1', async () => {
    const path = join(folder, 'bin');
    const cache = join(folder, 'empty-cache');
    mkdirSync(path);
    mkdirSync(cache);
    // As root the servers' user is looked up; nothing else is on this PATH.
    const id = Bun.which('id');
    if (id) symlinkSync(id, join(path, 'id'));
    const installed = join(folder, 'apt-get-ran');
    writeFileSync(join(path, 'apt-get'), `#!/bin/sh\n: > ${installed}\n`, { mode: 0o755 });
    const starter = Bun.spawn([process.execPath, UP], {
      env: { PATH: path, HOME: folder, XDG_CACHE_HOME: cache, TEST_INSTALL: 'no' },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [stdout, stderr] = await Promise.all([starter.stdout.text(), starter.stderr.text()]);
    expect(await starter.exited).toBe(1);
    expect(stdout).toBe('');
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(
        /^tests need Docker, or a JDK 21\+ with Maven and redis-server: .*no Maven \(mvn\) found, no redis-server found( \(TEST_INSTALL=yes .*\))?$/,
      ),
    ]);
    expect(existsSync(installed)).toBe(false);
    expect(existsSync(join(cache, 'company-directory', 'elasticsearch-9.4.3'))).toBe(false);
  });
});
