/** One Ctrl-C ends every command that waits for a pipe, and its sessions in Postgres. */
import { afterAll, describe, expect, test } from 'bun:test';
import { closeSync, constants, openSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs';
import { constants as os } from 'node:os';
import type { Command } from 'commander';
import { importBrackets } from '../../companies/debts/debts-support.ts';
import { bareEnvironment, createCommandLine, MAIN } from '../../support/command.ts';
import { nif } from '../../support/companies.ts';
import { createTestDatabase } from '../../support/database.ts';
import { growAccount } from '../../support/grown-account.ts';
import { until } from '../../support/until.ts';
import { importMain } from '../../support/whole.ts';
import { createWorkbench } from '../../support/workbench.ts';
import { prepareCommands } from './every-command.ts';

const bench = await createWorkbench('postgres');
const empty = await createTestDatabase('interrupted_restore');
afterAll(async () => {
  await empty.drop();
  await bench.close();
});

// Every answer has more bytes than the sockets and pipes hold, also packed.
const { sql } = bench.database;
const every = await prepareCommands(bench);
await growAccount(sql, every.account, 1_000);
await sql`INSERT INTO accounts (id, name) SELECT 'acc_' || n, repeat('n', 190) FROM generate_series(1, 500) AS n`;
await sql`
  INSERT INTO balances (account_id, plan, period_plan, period_start, period_end)
  SELECT 'acc_' || n, 'free', 'free', now(), now() + interval '1 month' FROM generate_series(1, 500) AS n`;
const debts = Array.from({ length: 20_000 }, (_, n) => [nif(n), [1, null]] as const);
await importBrackets(bench.database, Object.fromEntries(debts));
const [current] = await sql<{ name: string }[]>`
  SELECT table_name AS name FROM directory JOIN directory_generations AS generation ON generation.id = current`;
await sql`
  INSERT INTO ${sql(current!.name)} (nif, legal_name, normalized_name, sort_key)
  SELECT (600000000 + n)::text, (SELECT string_agg(md5(n || '-' || i), '') FROM generate_series(1, 12) AS i), 'a', 'a'
  FROM generate_series(1, 50000) AS n`;
const file = bench.path('directory.backup');
await createCommandLine(bench.database.url).json('backup', file);
const backup = await Bun.file(file).bytes();

/** More than a pipe holds, for both kinds of imports: rows that are read, and rows that are rejected. */
const HEADER = 'nif,legal_name,start,end\n';
const GOOD_ROWS = HEADER + `${nif(1)},Nome,1,1\n`.repeat(20_000);
const BAD_ROWS = HEADER + '1,Nome,1,1\n'.repeat(20_000);

/**
 * Every place at which a command waits for another process, as the declarations of the commands tell: files and options that it takes, and
 * its output if that has no bound. A list that is bounded by a rule is none.
 */
function placesOf(command: Command, words: string[] = []): string[] {
  const places = command.commands.flatMap((child) => placesOf(child, [...words, child.name()]));
  const files = [
    ...command.registeredArguments.filter((argument) => argument.name() === 'file').map(() => '<file>'),
    ...command.options.filter(({ flags }) => flags.endsWith('<file>')).map(({ long }) => long!),
  ];
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  const isUnbounded =
    /\nAnswer:\n {2}(CSV|one JSON document)/.test(help) || UNBOUNDED_LISTS.has(words.join(' '));
  return [
    ...places,
    ...[...files, ...(isUnbounded ? ['> stdout'] : [])].map((at) => [...words, at].join(' ')),
  ];
}

/** Of those that `defineList` makes. */
const UNBOUNDED_LISTS = new Set(['account list', 'account activity', 'account history', 'key list']);

const PLACES = placesOf((await importMain()).createProgram());

test('the places are found', () => {
  expect(PLACES.length).toBeGreaterThan(14);
});

/** The words of a command for a place. @param pipe takes the place of the file */
async function wordsOf(place: string, pipe: string): Promise<string[]> {
  const [name, at] = place.split(/ (?=<|>|--)/) as [string, string];
  const words = name === 'restore' ? [] : await every.words[name]!();
  if (at === '--rejects') words[0] = await bench.write('bad.csv', BAD_ROWS);
  if (at === '<file>') words[0] = pipe;
  return [...name.split(' '), ...words, ...(at.startsWith('--') ? [at, pipe] : [])];
}

/** Starts a command as a shell does. It is killed if it doesn't end. */
async function start(place: string, pipe: string, how: string, given?: string[]) {
  const { url, sql } = place.startsWith('restore') ? empty : bench.database;
  const command = given ?? (await wordsOf(place, how === '' ? pipe : '-'));
  const child = Bun.spawn(
    ['sh', '-c', `exec "$0" "$@" ${how.replace('PIPE', `'${pipe}'`)}`, process.execPath, MAIN, ...command],
    {
      env: { ...bareEnvironment(), DATABASE_URL: url },
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
      timeout: 30_000,
      killSignal: 'SIGKILL',
    },
  );
  const sessions = () => sql<{ query: string; state: string }[]>`
    SELECT query, state FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'company-directory%'`;
  return {
    child,
    sessions,
    /** Interrupts it once. Nothing of it may be left in Postgres, such as a snapshot, which stops every vacuum. */
    async interrupt(reason = 'interrupted(: nothing has changed)?') {
      child.kill('SIGINT');
      const [code, stderr] = await Promise.all([child.exited, child.stderr.text()]);
      expect([code, stderr]).toEqual([1, expect.stringMatching(new RegExp(`^error: ${reason}$`, 'm'))]);
      expect(stderr.match(/^error: /gm)).toHaveLength(1);
      await until('the end of its sessions', async () => (await sessions()).length === 0);
    },
  };
}

let pipes = 0;
function makePipe(): string {
  const path = bench.path(`pipe-${++pipes}`);
  expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0);
  return path;
}

/** A pipe of which the test holds both ends. */
function openPipe() {
  const path = makePipe();
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  return { path, fd, [Symbol.dispose]: () => closeSync(fd) };
}

/** Whether a process handles Ctrl-C itself, as a command does from its start. */
function handlesInterrupts(pid: number): boolean {
  // Before that it is a copy of this process, and then the shell, which handles them for a moment.
  if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`${process.execPath}\0${MAIN}`)) return false;
  const [, mask] = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return (BigInt(`0x${mask}`) & (1n << BigInt(os.signals.SIGINT - 1))) !== 0n;
}

/** What the threads of a process wait for in the kernel. */
const waitsOf = (pid: number | 'self') =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => waitOf(`/proc/${pid}/task/${thread}/wchan`))
    .join(' ');

function waitOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the thread has just ended
  }
}

/** Whether a thread waits for the other end of a pipe. Kernels that tell nothing of it say 0 for every thread. */
const waitsForOtherEnd = (pid: number) =>
  waitsOf(pid).includes('wait_for_partner') || !/[a-z]/.test(waitsOf('self'));

/** Whether a pipe has no room for a further page, so that its writer waits. */
function isFull(fd: number): boolean {
  const page = Buffer.alloc(4096, '\n');
  if (!fits(fd, page)) return true;
  readSync(fd, page);
  return false;
}

/** Writes to a pipe, if it has room for all of it. */
function fits(fd: number, bytes: Uint8Array): boolean {
  try {
    return writeSync(fd, bytes) > 0;
  } catch {
    return false;
  }
}

/** Elsewhere no file tells what a process waits for. */
const linux = test.skipIf(process.platform !== 'linux');
const INPUTS = PLACES.filter((place) => /import <file>|restore/.test(place));
const OUTPUTS = PLACES.filter((place) => !INPUTS.includes(place));
const isStdout = (place: string) => place.endsWith('> stdout');
const isFile = (place: string) => !isStdout(place);

describe('one Ctrl-C ends a command', () => {
  linux.each([...INPUTS, ...OUTPUTS].filter(isFile))(
    '%s, a pipe that no process opens at its other end',
    async (place) => {
      const { child, interrupt } = await start(place, makePipe(), '');
      await until('the wait', () => handlesInterrupts(child.pid) && waitsForOtherEnd(child.pid));
      await interrupt();
    },
  );

  test.each([
    ...OUTPUTS.filter(isFile).map((place) => [place, ''] as const),
    ...[...OUTPUTS.filter(isStdout), 'backup <file>'].map((place) => [place, '> PIPE'] as const),
  ])('%s %s, a pipe whose reader stalls', async (place, how) => {
    using pipe = openPipe();
    const { interrupt } = await start(place, pipe.path, how);
    await until('a full pipe', () => isFull(pipe.fd));
    await interrupt();
  });

  linux.each(INPUTS.flatMap((place) => ['', '< PIPE'].map((how) => [place, how] as const)))(
    '%s %s, a pipe whose writer stalls in the middle',
    async (place, how) => {
      const isRestore = place.startsWith('restore');
      const pipe = makePipe();
      const { child, sessions, interrupt } = await start(place, pipe, how);
      const input = bench.path('input');
      await Bun.write(input, isRestore ? backup.subarray(0, backup.length / 2) : GOOD_ROWS);
      await using _writer = Bun.spawn(['sh', '-c', 'exec > "$0"; cat "$1"; exec sleep 60', pipe, input]);
      const isCopying = async () =>
        (await sessions()).some(({ query, state }) => state === 'active' && query.startsWith('COPY'));
      // A restore reads a file for the first time before it opens a store.
      await until('the rows', () => (isRestore && how === '' ? handlesInterrupts(child.pid) : isCopying()));
      await interrupt(isRestore ? undefined : 'interrupted: nothing has changed');
    },
  );

  linux('restore -, a pipe that never has a byte', async () => {
    using pipe = openPipe();
    const { child, interrupt } = await start('restore <file>', pipe.path, '< PIPE');
    await until('its start', () => handlesInterrupts(child.pid));
    await interrupt();
  });

  test('that has done its work, and whose answer no reader takes', async () => {
    using pipe = openPipe();
    while (fits(pipe.fd, Buffer.from('\n'))) {}
    const words = ['account', 'credits', every.account, '--add', '7', '--reference', 'interrupted'];
    const { interrupt } = await start('account credits', pipe.path, '> PIPE', words);
    await until('the credits', async () => {
      const rows = await bench.database.sql`SELECT FROM account_events WHERE reference = 'interrupted'`;
      return rows.length === 1;
    });
    await interrupt('the answer could not be written: interrupted');
  });
});
