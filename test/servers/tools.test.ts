/** The promises of the tests' own tools that other tests would not notice to be broken: what they leave behind, and what they say. */
import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { ROOT } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { createFolder } from '../support/folder.ts';
import { startProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

const UP = join(import.meta.dir, 'up.ts');
const START_TIMEOUT_MS = 180_000;

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });

test.each([
  ['SIGKILL', 'redis'],
  ['SIGINT', 'database'],
] as const)(
  'servers leave no process and no file behind when the process that started them gets %s',
  async (signal, server) => {
    const temporary = createFolder('servers');
    const starter = Bun.spawn([process.execPath, UP], {
      env: { ...process.env, TMPDIR: temporary, [`TEST_${server.toUpperCase()}_URL`]: '' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let said = '';
    let port = 0;
    for await (const chunk of starter.stdout.pipeThrough(new TextDecoderStream())) {
      said += chunk;
      const url = new RegExp(`^export TEST_${server.toUpperCase()}_URL=(.*)\n`, 'm').exec(said)?.[1];
      if (url === undefined) continue;
      port = Number(new URL(url).port);
      break;
    }
    expect(await isListening(port)).toBe(true);
    starter.kill(signal);
    await starter.exited;
    await until('the end', async () => !(await isListening(port)) && readdirSync(temporary).length === 0);
  },
  START_TIMEOUT_MS,
);

test('a run without servers says what is missing in one line, and ends with exit code 1', async () => {
  const path = createFolder('bin');
  // As root the servers' user is looked up; nothing else is on this PATH.
  const id = Bun.which('id');
  if (id) symlinkSync(id, join(path, 'id'));
  writeFileSync(join(path, 'apt-get'), `#!/bin/sh\n: > ${path}/apt-get-ran\n`, { mode: 0o755 });
  mkdirSync(join(path, 'cache'));
  const tests = join(ROOT, 'test/metering/rate-limit/redis.test.ts');
  const run = Bun.spawn([process.execPath, join(ROOT, 'test/run.ts'), tests], {
    env: { PATH: path, HOME: path, XDG_CACHE_HOME: join(path, 'cache'), TEST_INSTALL: 'no' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  expect(await run.stderr.text()).toMatch(
    /^tests need Docker, or a JDK 21\+ with Maven and redis-server: .*no redis-server found.*$/m,
  );
  expect(await run.exited).toBe(1);
  expect(readdirSync(path)).not.toContain('apt-get-ran');
});

test('a test database that is dropped names the connections that were left open', async () => {
  const database = await createTestDatabase('leak');
  const forgotten = connectPostgres(database.url, { max: 1, applicationName: 'forgetful' });
  await forgotten`SELECT 1`;
  await expect(database.drop()).rejects.toThrow('left open: forgetful (idle)');
  await forgotten.end({ timeout: 1 });
});

test('a proxy holds bytes back while it hangs, resets while it is down, and passes all in order again', async () => {
  let heard = '';
  const echo = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, chunk) {
        heard += chunk.toString();
        socket.write(chunk);
      },
    },
  });
  const proxy = await startProxy(`tcp://127.0.0.1:${echo.port}`);
  const open = () => {
    const client = { socket: connect(proxy.port, '127.0.0.1'), received: '', isClosed: false };
    client.socket.on('data', (chunk) => {
      client.received += chunk.toString();
    });
    client.socket
      .on('error', () => {})
      .on('close', () => {
        client.isClosed = true;
      });
    return client;
  };
  const client = open();
  client.socket.write('1');
  await until('the echo', () => client.received === '1');
  proxy.hang();
  client.socket.write('2');
  const late = open();
  late.socket.write('3');
  await Bun.sleep(50);
  expect(heard).toBe('1');
  proxy.up();
  await until('both echoes', () => client.received === '12' && late.received === '3');
  proxy.down();
  const refused = open();
  await until('the resets', () => client.isClosed && late.isClosed && refused.isClosed);
  proxy.up();
  const fresh = open();
  fresh.socket.write('4');
  await until('the echo of the new one', () => fresh.received === '4');
  fresh.socket.destroy();
  await proxy.close();
  echo.stop(true);
});
