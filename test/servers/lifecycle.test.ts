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
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/command.ts';
import { postgresUrl } from '../support/database.ts';
import { elasticsearchUrl } from '../support/elasticsearch.ts';
import { redisUrl } from '../support/redis.ts';
import { askKeeper, startKeeper, startServers } from './servers.ts';

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
        expect(lines).toContain(`export TEST_ELASTICSEARCH_URL=${elasticsearchUrl}`);
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

  // SIGTERM ends `bun test` without a word to its tests.
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(
      `that a test starts for itself leave no process and no file behind when bun test gets ${signal}`,
      async () => {
        const temporary = join(folder, `own-${signal}`);
        mkdirSync(temporary);
        const file = join(temporary, 'hanging.test.ts');
        writeFileSync(
          file,
          `import { createContext } from '${ROOT}/test/support/secure-servers.ts';
           import { startPostgres } from '${ROOT}/test/servers/postgres.ts';
           const { context } = await createContext();
           console.log(await startPostgres(context, { maxConnections: 10, purpose: 'tests' }));
           await new Promise(() => setInterval(() => {}, 1000));`,
        );
        const tests = Bun.spawn([process.execPath, 'test', file], {
          cwd: ROOT,
          env: {
            ...process.env,
            TMPDIR: temporary,
            TEST_KEEPER: '',
            TEST_RUN_ID: crypto.randomUUID().slice(0, 8),
          },
          stdin: 'ignore',
          stdout: 'pipe',
          stderr: 'ignore',
        });
        let said = '';
        for await (const chunk of tests.stdout.pipeThrough(new TextDecoderStream())) {
          said += chunk;
          if (said.includes('postgres://')) break;
        }
        const ports = [Number(new URL(/postgres:\/\/\S+/.exec(said)![0]).port)];
        expect(await isListening(ports[0]!)).toBe(true);
        tests.kill(signal);
        await tests.exited;
        rmSync(file);
        await untilNothingIsLeft(ports, temporary);
        expect(await isListening(ports[0]!)).toBe(false);
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
    'start one by one, when each is first asked for, and are gone when stop resolves',
    async () => {
      const temporary = join(folder, 'one-by-one');
      mkdirSync(temporary);
      const before = process.env;
      process.env = { ...before, TMPDIR: temporary, TEST_REDIS_URL: '', TEST_DATABASE_URL: '' };
      const keeper = await startKeeper().finally(() => {
        process.env = before;
      });
      const [url, again] = await Promise.all([1, 2].map(() => askKeeper(keeper.address, 'redis')));
      expect(again).toBe(url!);
      const [runFolder] = readdirSync(temporary);
      expect(readdirSync(join(temporary, runFolder!))).toEqual(['redis']);
      const port = Number(new URL(url!).port);
      expect(await isListening(port)).toBe(true);
      await keeper.stop();
      expect(await isListening(port)).toBe(false);
      await keeper.stop();
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

  // Only Linux has a route to containers.
  if (process.platform === 'linux')
    test.each([
      ['are those of docker-compose.yml when they run already', '', true],
      ['are not those of docker-compose.yml when they serve an installation', 'api a1\n', false],
    ])('%s', async (_, further, isUsed) => {
      const path = mkdtempSync(join(folder, 'docker-'));
      const address = `127.${[1, 2, 3].map(() => 1 + Math.floor(Math.random() * 250)).join('.')}`;
      const docker = `case "$*" in *" ps "*) printf '${further}redis b2\n' ;; inspect*b2) echo ${address} ;; *" up "*) exit 1 ;; esac`;
      writeFileSync(join(path, 'docker'), `#!/bin/sh\n${docker}\n`, { mode: 0o755 });
      writeFileSync(join(path, 'redis-url'), 'redis://redis:6379\n');
      const container = createServer((socket) => {
        socket.pipe(createConnection(Number(new URL(redisUrl).port), '127.0.0.1')).pipe(socket);
      }).listen(6379, address);
      const starter = Bun.spawn([process.execPath, UP], {
        env: {
          ...process.env,
          ...{ PATH: `${path}:${process.env.PATH}`, TEST_REDIS_URL: '' },
          REDIS_URL_SECRET: join(path, 'redis-url'),
        },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      const { lines } = await whatItPrints({ starter });
      starter.kill('SIGINT');
      const ofContainer = `export TEST_REDIS_URL=redis://${address}:6379`;
      expect(lines.includes(ofContainer)).toBe(isUsed);
      const said = await starter.stderr.text();
      expect(said.includes('using redis of docker-compose.yml, which runs already')).toBe(isUsed);
      container.close();
    });

  test('come from the environment when it names them, and then nothing is started', async () => {
    const servers = await startServers();
    expect(servers).toMatchObject({ elasticsearchUrl, postgresUrl, redisUrl });
    await servers.stop();
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
    // In a run of tests the first file that needs a missing server ends it.
    const tests = ['redis', 'redis-away'].map((name) =>
      join(ROOT, `test/metering/rate-limit/${name}.test.ts`),
    );
    for (const words of [[UP], [join(ROOT, 'test/run.ts'), ...tests]]) {
      const starter = Bun.spawn([process.execPath, ...words], {
        env: { PATH: path, HOME: folder, XDG_CACHE_HOME: cache, TEST_INSTALL: 'no' },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      const [stdout, stderr] = await Promise.all([starter.stdout.text(), starter.stderr.text()]);
      expect(await starter.exited).toBe(1);
      expect(stdout).toMatch(/^(bun test .* PARALLEL\n)?$/);
      expect(stderr.trim().split('\n')).toEqual([
        expect.stringMatching(
          /^tests need Docker, or a JDK 21\+ with Maven and redis-server: .*no Maven \(mvn\) found, no redis-server found( \(TEST_INSTALL=yes .*\))?$/,
        ),
      ]);
    }
    expect(existsSync(installed)).toBe(false);
    expect(existsSync(join(cache, 'company-directory', 'elasticsearch-9.4.3'))).toBe(false);
  });
});
