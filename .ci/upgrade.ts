#!/usr/bin/env bun
/**
 * `.ci/upgrade.ts`: two instances of 0.1.0 behind a real HAProxy, both by the commands of docs/performance.md, restart one after the other
 * as instances of this tree, by those of docs/operating.md, while clients ask and search without a pause. No request may fail, and no
 * answer may mix two directories. Between the restarts this tree imports a directory: its instance searches the new one at once, and
 * that of 0.1.0 within 15 s. A stand-in for systemctl restarts processes.
 *
 * Exit code 77 without HAProxy or curl, and in a clone without the history.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOut, run } from '../bench/lib/revision.ts';
import { createDatabase, removeData } from '../bench/lib/stack.ts';
import { SECOND } from '../src/platform/units.ts';
import { freePort } from '../test/servers/ports.ts';
import { startServers } from '../test/servers/servers.ts';
import { csv } from '../test/support/companies.ts';
import { until } from '../test/support/until.ts';
import { createProcesses, ROOT, runShell, shellBlocks, untilReady } from './parts.ts';

const CLIENTS = 4;
const OLD_REVISION = '02ac4196'; // 0.1.0
/** An instance of 0.1.0 looks at this interval which index is current. */
const OLD_FOLLOWS_WITHIN_MS = 15 * SECOND;
const COMPANIES = 500;
/** That of docs/operating.md. */
const SHUTDOWN_DELAY_S = '5';

const haproxy = Bun.which('haproxy');
if (haproxy === null || Bun.which('curl') === null) {
  process.stdout.write('skipped .ci/upgrade.ts: haproxy or curl is not installed\n');
  process.exit(77);
}

if (Bun.spawnSync(['git', 'cat-file', '-e', OLD_REVISION], { cwd: ROOT, stderr: 'ignore' }).exitCode !== 0) {
  process.stdout.write('skipped .ci/upgrade.ts: this clone does not have the commit of 0.1.0\n');
  process.exit(77);
}

const folder = await mkdtemp(join(tmpdir(), 'ci-upgrade-'));
/** The ports of the documents, and free ones. */
const ports = Object.fromEntries(['3001', '3002', '8080'].map((port) => [port, String(freePort())]));
const here = (commands: string) => commands.replace(/\b(?:3001|3002|8080)\b/g, (port) => ports[port]!);
const balancerUrl = `http://127.0.0.1:${ports['8080']}`;
const { start, stop } = createProcesses(folder);
const instances = new Map<string, Bun.Subprocess>();

const servers = await startServers();
const old = await checkOut(OLD_REVISION, join(folder, 'old'));
const prefix = `upgrade-${Date.now()}`;
const environment = {
  PUBLIC_URL: balancerUrl,
  DATA_DIR: join(folder, 'data'),
  DATABASE_URL: await createDatabase(servers.postgresUrl),
  ELASTICSEARCH_URL: servers.elasticsearchUrl,
  ELASTICSEARCH_ALIAS: prefix,
  SEARCH_CACHE_MB: '1',
  REGISTRY: 'none',
  SHUTDOWN_DELAY_S,
};

function startInstance(port: string, tree: string): void {
  const command = [process.execPath, 'src/main.ts', 'serve'];
  instances.set(port, start(command, { ...environment, HOST: '127.0.0.1', PORT: port }, tree));
}

// biome-ignore lint/suspicious/noExplicitAny: each command answers something else
const command = async (tree: string, ...words: string[]): Promise<any> =>
  JSON.parse(await run([process.execPath, 'src/main.ts', ...words, '--json'], tree, environment));

/** Makes a directory the current one, all of whose names end in `mark`. */
async function importAll(tree: string, mark: string): Promise<void> {
  const file = join(folder, 'companies.csv');
  await Bun.write(
    file,
    csv(0, COMPANIES, (n) => (n % 2 === 0 ? `Alfa. ${mark}` : `Alfa ${mark} ${n}`)),
  );
  await command(tree, 'companies', 'import', file, '--replace');
}

/** The marks of the names that a search finds. @throws Error with an answer other than 200 */
async function marksOf(url: string, secret: string, q: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/companies?q=${q}`, {
    headers: { Authorization: `Bearer ${secret}` },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`a search was answered ${answer.status}: ${text}`);
  const { data } = JSON.parse(text) as { data: { legal_name: string }[] };
  return [...new Set(data.map(({ legal_name }) => legal_name.split(' ')[1]))].join();
}

/** This tree's instance has the first port, and that of 0.1.0 still the second. */
async function importBetween(secret: string): Promise<void> {
  const [now, before] = [ports['3001'], ports['3002']].map((port) => `http://127.0.0.1:${port}`);
  await importAll(ROOT, 'nova');
  const seen = await marksOf(now!, secret, 'alfa');
  if (seen !== 'nova') throw new Error(`right after the import the new instance finds ${seen}`);
  const follows = async () => (await marksOf(before!, secret, 'alfa').catch(() => '')) === 'nova';
  await until('the instance of 0.1.0 follows', follows, OLD_FOLLOWS_WITHIN_MS);
}

/**
 * `systemctl restart company-directory@PORT`, as systemd does it: it waits for the end, not until the new one is ready.
 * @param between happens before the second restart; an error fails it
 */
async function writeSystemctl(between: () => Promise<void>): Promise<string> {
  let restarts = 0;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch({ url }) {
      const port = new URL(url).pathname.slice(1);
      if (restarts++ === 1) await between();
      const leaving = instances.get(port)!;
      leaving.kill('SIGTERM');
      await leaving.exited;
      startInstance(port, ROOT);
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

/** Asks and searches by the balancer until it is stopped. @returns what stops it, with the answers and what failed */
function askOn(secret: string) {
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
  const search = async () => {
    const queries = ['alfa', 'alfa.', 'alfa nova', 'alfa velha 7'];
    for (let n = 0; isAsking; n += 1) {
      const marks = await marksOf(balancerUrl, secret, queries[n % queries.length]!).catch(
        (error: Error) => error.message,
      );
      answers.push(['', 'velha', 'nova'].includes(marks) ? 200 : `a search found ${marks}`);
      await Bun.sleep(50);
    }
  };
  const asked = [...Array.from({ length: CLIENTS }, ask), search()];
  return async () => {
    isAsking = false;
    await Promise.all(asked);
    return { answers: answers.length, failures: answers.filter((answer) => answer !== 200) };
  };
}

try {
  const configure = await blockWith('docs/performance.md', 'Several instances on one machine', 'haproxy.cfg');
  const restart = await blockWith('docs/operating.md', 'Upgrading while it serves', 'systemctl restart');
  const configuration = join(folder, 'haproxy.cfg');
  await runShell(configure.replace('/etc/haproxy/haproxy.cfg', configuration), { cwd: ROOT });
  await Bun.write(configuration, here(await Bun.file(configuration).text()));
  await importAll(old.folder, 'antiga');
  await importAll(old.folder, 'velha');
  const { id } = await command(old.folder, 'account', 'create', '--name', 'Upgrade', '--plan', 'plus');
  const { secret } = await command(old.folder, 'key', 'create', id, '--name', 'upgrade');
  await command(old.folder, 'account', 'limits', id, '--requests-per-minute', '100000');
  for (const port of [ports['3001']!, ports['3002']!]) {
    startInstance(port, old.folder);
    await untilReady(`http://127.0.0.1:${port}`);
  }
  start([haproxy, '-f', configuration]);
  await untilReady(balancerUrl);

  const before = [...instances.values()].map(({ pid }) => pid);
  const stopAsking = askOn(secret);
  const systemctl = await writeSystemctl(() => importBetween(secret));
  await runShell(restart, { cwd: folder, env: { PATH: `${systemctl}:${process.env.PATH}` } });
  const { answers, failures } = await stopAsking();
  if ([...instances.values()].some(({ pid }) => before.includes(pid)))
    throw new Error('an instance has not restarted');
  if (failures.length > 0)
    throw new Error(`${failures.length} of ${answers} requests failed, for example ${failures[0]}`);
  const { agrees, documents } = await command(ROOT, 'index', 'status');
  if (!agrees || documents !== COMPANIES) throw new Error(`the index has ${documents} documents`);
  process.stdout.write(
    `two instances of 0.1.0 have restarted as this version, and all of ${answers} requests were answered\n`,
  );
} catch (error) {
  process.stderr.write(`.ci/upgrade.ts failed: ${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  await stop();
  await old.remove();
  await removeData(servers, environment.DATABASE_URL, prefix);
  await servers.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit();
