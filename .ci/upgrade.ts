#!/usr/bin/env bun
/**
 * `.ci/upgrade.ts`: two instances behind a real HAProxy, both by the commands of docs/scaling.md, restart one after the other by
 * those of docs/operating.md, while clients ask without a pause. No request may fail. A stand-in for systemctl restarts processes.
 *
 * Exit code 77 without HAProxy or curl.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../src/service/listen.ts';
import { createProcesses, isReady, ROOT, runShell, START_TIMEOUT_MS, shellBlocks, until } from './parts.ts';

const CLIENTS = 4;
/** That of docs/operating.md. */
const SHUTDOWN_DELAY_S = '5';

const haproxy = Bun.which('haproxy');
if (haproxy === null || Bun.which('curl') === null) {
  process.stdout.write('skipped .ci/upgrade.ts: haproxy or curl is not installed\n');
  process.exit(77);
}

const folder = await mkdtemp(join(tmpdir(), 'ci-upgrade-'));
/** The ports of the documents, and free ones. */
const ports = Object.fromEntries(
  ['3001', '3002', '8080'].map((port) => [port, String(freePort('127.0.0.1', 0))]),
);
const here = (commands: string) => commands.replace(/\b(?:3001|3002|8080)\b/g, (port) => ports[port]!);
const balancerUrl = `http://127.0.0.1:${ports['8080']}`;
const { start, stop } = createProcesses(folder);
const instances = new Map<string, Bun.Subprocess>();

function startInstance(port: string): void {
  const env = { PUBLIC_URL: balancerUrl, DATA_DIR: join(folder, 'data'), REGISTRY: 'none', SHUTDOWN_DELAY_S };
  const command = [process.execPath, 'src/main.ts', 'serve'];
  instances.set(port, start(command, { ...env, HOST: '127.0.0.1', PORT: port }));
}

/** `systemctl restart company-directory@PORT`, as systemd does it: it waits for the end, not until the new one is ready. */
async function writeSystemctl(): Promise<string> {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch({ url }) {
      const port = new URL(url).pathname.slice(1);
      const leaving = instances.get(port)!;
      leaving.kill('SIGTERM');
      await leaving.exited;
      startInstance(port);
      return new Response();
    },
  });
  const bin = join(folder, 'bin');
  await Bun.write(
    join(bin, 'systemctl'),
    `#!/bin/sh\nexec curl --fail --silent "http://127.0.0.1:${server.port}/\${2#company-directory@}"\n`,
  );
  await chmod(join(bin, 'systemctl'), 0o755);
  return bin;
}

/** The one block of a section with a text. */
async function blockWith(path: string, heading: string, text: string): Promise<string> {
  const block = (await shellBlocks(path, heading)).find((commands) => commands.includes(text));
  if (block === undefined) throw new Error(`${path} has no longer commands with ${text}`);
  return here(block);
}

/** Asks by the balancer until it is stopped. @returns what stops it, with the answers and what failed */
function askOn() {
  const answers: (number | string)[] = [];
  let isAsking = true;
  const ask = async () => {
    while (isAsking) {
      const answer = await fetch(`${balancerUrl}/health/live`).then(
        ({ status }) => status,
        (error: Error) => error.message,
      );
      answers.push(answer);
      await Bun.sleep(5);
    }
  };
  const asked = Array.from({ length: CLIENTS }, ask);
  return async () => {
    isAsking = false;
    await Promise.all(asked);
    return { answers: answers.length, failures: answers.filter((answer) => answer !== 200) };
  };
}

try {
  const configure = await blockWith('docs/scaling.md', 'Several instances on one machine', 'haproxy.cfg');
  const restart = await blockWith('docs/operating.md', 'Upgrading while it serves', 'systemctl restart');
  const configuration = join(folder, 'haproxy.cfg');
  await runShell(configure.replace('/etc/haproxy/haproxy.cfg', configuration), { cwd: ROOT });
  await Bun.write(configuration, here(await Bun.file(configuration).text()));
  for (const port of [ports['3001']!, ports['3002']!]) {
    startInstance(port);
    await until('an instance is ready', START_TIMEOUT_MS, isReady(`http://127.0.0.1:${port}`));
  }
  start([haproxy, '-f', configuration]);
  await until('the balancer answers', START_TIMEOUT_MS, isReady(balancerUrl));

  const before = [...instances.values()].map(({ pid }) => pid);
  const stopAsking = askOn();
  await runShell(restart, { cwd: folder, env: { PATH: `${await writeSystemctl()}:${process.env.PATH}` } });
  const { answers, failures } = await stopAsking();
  if ([...instances.values()].some(({ pid }) => before.includes(pid)))
    throw new Error('an instance has not restarted');
  if (failures.length > 0)
    throw new Error(`${failures.length} of ${answers} requests failed, for example ${failures[0]}`);
  process.stdout.write(`two instances have restarted, and all of ${answers} requests were answered\n`);
} catch (error) {
  process.stderr.write(`.ci/upgrade.ts failed: ${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  await stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit();
