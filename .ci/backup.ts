#!/usr/bin/env bun
/**
 * `.ci/backup.ts`: the drill of a lost machine, by the commands of docs/operating.md, on the embedded Postgres. A backup is taken amid
 * load; its books must add up. One that is taken at rest is restored elsewhere, and must have
 * every account's books, a member's second factor, and the same answers. `.ci/compose` restores with Docker.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectPostgres } from '../src/platform/postgres/connect.ts';
import { openEmbeddedPostgres } from '../src/platform/postgres/embedded/embedded.ts';
import { codeOf, createVisitor, fieldsOf } from '../test/dashboard/visitor.ts';
import { freePort } from '../test/servers/ports.ts';
import { csv, nif } from '../test/support/companies.ts';
import { createProcesses, ROOT, runShell, shellBlocks, untilReady } from './parts.ts';

const COMPANIES = 20_000;
const ACCOUNTS = 6;
const ANSWERS = 10_000;
const AT_ONCE = 20;
const MAIN = `${process.execPath} ${join(ROOT, 'src/main.ts')}`;
const PERSON = { name: 'Ana', email: 'ana@example.com', password: 'a long enough passphrase' };

const folder = await mkdtemp(join(tmpdir(), 'ci-backup-'));
const { start, stop } = createProcesses(folder);

/** A service of the folder: its address, and its commands. */
async function startService(dataDir: string) {
  const port = String(freePort());
  const env = { REGISTRY: 'none', PORT: port, HOST: '127.0.0.1', DATA_DIR: dataDir };
  const service = start([...MAIN.split(' '), 'serve'], env, folder);
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url);
  return {
    url,
    // biome-ignore lint/suspicious/noExplicitAny: each command answers something else
    async command(...words: string[]): Promise<any> {
      const child = Bun.spawn([...MAIN.split(' '), ...words, '--json'], {
        cwd: folder,
        env: { PATH: process.env.PATH!, ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const answer = await child.stdout.text();
      if ((await child.exited) !== 0) throw new Error(`${words.join(' ')} failed`);
      return JSON.parse(answer);
    },
    async stop(): Promise<void> {
      service.kill('SIGTERM');
      await service.exited;
    },
  };
}

type Service = Awaited<ReturnType<typeof startService>>;

/** Request `n` of a fixed list: searches, matches and lookups of debts. @returns its answer as text, with its status */
async function ask({ url }: Service, secret: string, n: number): Promise<string> {
  const headers = { Authorization: `Bearer ${secret}` };
  const path = [
    `companies?q=${encodeURIComponent(`Empresa ${n % 997}`)}`,
    `matches?q=${encodeURIComponent(`${n % 1009} empresa`)}`,
    `companies?q=${nif(n)}`,
  ][n % 3]!;
  for (;;) {
    const answer = await fetch(`${url}/api/v1/${path}`, { headers });
    const text = await answer.text();
    // A busy machine sheds requests, which cost nothing.
    if (answer.status !== 503) return `${answer.status} ${text}`;
    await Bun.sleep(100);
  }
}

/** Asks with every key until it is stopped. @returns what ends it, and says how many were answered */
function load(service: Service, secrets: string[]): () => Promise<number> {
  let isAsking = true;
  const asked = secrets.map(async (secret) => {
    let answers = 0;
    for (let n = 0; isAsking; n += 1) {
      const answer = await ask(service, secret, n);
      if (!answer.startsWith('200 ')) throw new Error(`a request under load was answered ${answer}`);
      answers += 1;
    }
    return answers;
  });
  const done = Promise.all(asked);
  done.catch(() => {});
  return async () => {
    isAsking = false;
    return (await done).reduce((sum, count) => sum + count, 0);
  };
}

/** A member of an account who signs in with a second factor. @returns the secret of the codes */
async function enrol({ url, command }: Service, account: string): Promise<string> {
  const { link } = await command('account', 'invite', account, '--email', PERSON.email);
  const visitor = createVisitor(url);
  const { pathname, search } = new URL(link);
  const joined = await visitor.submit(pathname + search, PERSON);
  if (joined.status !== 303) throw new Error(`the invitation was answered ${joined.status}`);
  const page = '/dashboard/settings/second-factor';
  const shown = await visitor.submit(page, { present: PERSON.password });
  const secret = shown.textOf('#secret')!;
  await visitor.post(`${page}/confirm`, { ...fieldsOf(shown), code: codeOf(secret) });
  return secret;
}

/** @throws Error when the member can't sign in, or is let in without the code */
async function signIn({ url }: Service, secret: string): Promise<void> {
  const visitor = createVisitor(url);
  await visitor.submit('/dashboard/sign-in', PERSON);
  if ((await visitor.get('/dashboard')).status === 200) throw new Error('no code was asked for');
  await visitor.submit('/dashboard/sign-in/code', { code: codeOf(secret, 1) });
  const { status } = await visitor.get('/dashboard');
  if (status !== 200) throw new Error(`after the sign-in with a second factor the dashboard is ${status}`);
}

/** @throws Error unless every account's credits are those of its calls by day */
async function checkBooks(dataDir: string): Promise<void> {
  const embedded = await openEmbeddedPostgres(dataDir);
  const sql = connectPostgres(embedded.url, { max: 1 });
  try {
    const books = await sql<{ id: string; used: number; calls: number }[]>`
      SELECT account_id AS id, used, coalesce((
        SELECT sum(calls)::bigint FROM calls_by_day WHERE calls_by_day.account_id = balances.account_id), 0) AS calls
      FROM balances`;
    if (books.length !== ACCOUNTS) throw new Error(`there are ${books.length} accounts`);
    for (const { id, used, calls } of books)
      if (used === 0 || used !== calls) throw new Error(`${id} has used ${used} credits, for ${calls} calls`);
  } finally {
    await sql.end();
    await embedded.close();
  }
}

async function check(): Promise<void> {
  const [backup, restore] = await shellBlocks('docs/operating.md', "The embedded Postgres's backup");
  if (backup === undefined || restore === undefined)
    throw new Error('docs/operating.md has no longer two blocks about the embedded Postgres');
  const run = (commands: string) => runShell(commands.replaceAll('bun directory', MAIN), { cwd: folder });

  const service = await startService('.data');
  const names = join(folder, 'names.csv');
  await Bun.write(
    names,
    csv(0, COMPANIES, (n) => `Empresa ${n % 997} ${n}, Lda`),
  );
  await service.command('companies', 'import', names);
  const debtors = join(folder, 'debts.csv');
  await Bun.write(
    debtors,
    `nif,start,end\n${Array.from({ length: 500 }, (_, n) => `${nif(n)},1,2\n`).join('')}`,
  );
  await service.command('debts', 'import', debtors, '--kind', 'tax', '--date', '2026-10-31');
  const accounts: { id: string; secret: string }[] = [];
  for (let n = 0; n < ACCOUNTS; n += 1) {
    const { id } = await service.command('account', 'create', '--name', `Account ${n}`, '--plan', 'plus');
    const limits = ['--requests-per-minute', '1000000', '--included-credits', '1000'];
    await service.command('account', 'limits', id, ...limits);
    await service.command('account', 'credits', id, '--add', '1000000', '--note', 'drill');
    const { secret } = await service.command('key', 'create', id);
    accounts.push({ id, secret });
  }
  const factor = await enrol(service, accounts[0]!.id);
  const secrets = accounts.map(({ secret }) => secret);

  const stopLoad = load(service, secrets);
  await run(backup);
  const answers = await stopLoad();
  await run(`DATA_DIR=${join(folder, 'under-load')} bun directory restore directory.backup`);
  await checkBooks(join(folder, 'under-load'));
  process.stdout.write(`a backup amid ${answers} calls: its books add up\n`);

  await run(backup);
  const before = await booksOf(service, accounts);
  await run(restore);
  const restored = await startService('restored');
  checkEqual('books', before, await booksOf(restored, accounts));
  await signIn(restored, factor);
  for (let n = 0; n < ANSWERS; n += AT_ONCE) {
    const secret = secrets[(n / AT_ONCE) % secrets.length]!;
    const numbers = Array.from({ length: AT_ONCE }, (_, more) => n + more);
    const [expected = [], found = []] = await Promise.all(
      [service, restored].map((one) => Promise.all(numbers.map((number) => ask(one, secret, number)))),
    );
    checkEqual('answers', expected, found);
  }
  checkEqual('books', await booksOf(service, accounts), await booksOf(restored, accounts));
  await restored.stop();
  process.stdout.write(
    `a backup restored elsewhere: books, second factor and ${ANSWERS} answers are equal\n`,
  );
}

/** The used and the left credits of every account. */
async function booksOf({ command }: Service, accounts: { id: string }[]) {
  const books = [];
  for (const { id } of accounts) books.push(await command('account', 'show', id));
  return books;
}

function checkEqual(what: string, expected: unknown[], found: unknown[]): void {
  const at = expected.findIndex((each, index) => !Bun.deepEquals(each, found[index]));
  if (at !== -1)
    throw new Error(`other ${what}: ${JSON.stringify(found[at])}, not ${JSON.stringify(expected[at])}`);
}

try {
  await check();
} catch (error) {
  process.stderr.write(`.ci/backup.ts failed: ${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  await stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit();
