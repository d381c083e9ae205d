/** A process under the PID of a Postgres that was killed, with the command line of that Postgres. */
import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../../../../src/platform/postgres/embedded/embedded.ts';
import { prepareLayout } from '../../../../src/platform/postgres/embedded/paths.ts';
import { findRunning } from '../../../../src/platform/postgres/embedded/server.ts';
import { disposeSeed, query, temporaryDirectory, usedDataDir } from './support.ts';

const NOBODY = 65_534;
let directory: ReturnType<typeof temporaryDirectory>;
let dataDir: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  directory = temporaryDirectory('impostor');
  dataDir = await usedDataDir();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await directory.dispose();
});
afterAll(disposeSeed);

/** Starts `executable` under the name `postgres`, and writes its PID into `postmaster.pid`. */
async function startImpostor(executable: string, uid: number): Promise<number> {
  const layout = prepareLayout(dataDir);
  const child = spawn(executable, ['60'], {
    argv0: 'postgres',
    stdio: 'ignore',
    cwd: '/',
    ...(process.getuid?.() === 0 ? { uid, gid: uid } : {}),
  });
  children.push(child);
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  const file = `${child.pid}\n${layout.cluster}\n1700000000\n5432\n.\n\n  1  1\nready   \n`;
  writeFileSync(join(layout.cluster, 'postmaster.pid'), file);
  return child.pid!;
}

/** An executable called `postgres` that everybody may run. */
function copyOfSleep(): string {
  chmodSync(directory.path, 0o755);
  const folder = join(directory.path, 'bin');
  mkdirSync(folder, { mode: 0o755 });
  const copy = join(folder, 'postgres');
  copyFileSync('/bin/sleep', copy);
  chmodSync(copy, 0o755);
  return copy;
}

async function isNotTaken(): Promise<void> {
  expect(findRunning(prepareLayout(dataDir))).toBeNull();
  const embedded = await openEmbeddedPostgres(dataDir);
  expect(await query(embedded.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await embedded.close();
}

test('another program of the same user is not taken for Postgres', async () => {
  await startImpostor('/bin/sleep', statSync(prepareLayout(dataDir).cluster).uid);
  await isNotTaken();
});

test('a program called postgres of another user is not taken for ours, nor killed', async () => {
  // Only root can start a process of another user. For any other user this repeats the test above.
  const pid = await startImpostor(process.getuid?.() === 0 ? copyOfSleep() : '/bin/sleep', NOBODY);
  await isNotTaken();
  expect(process.kill(pid, 0)).toBe(true);
});
