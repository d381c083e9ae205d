/** Every command: it ends when its answer can't be written, answers what it declares, and reads nothing whole that grows. */
import { afterAll, expect, test } from 'bun:test';
import type { Command } from 'commander';
import { helpOf } from '../../../tools/commands.ts';
import { bareEnvironment, createCommandLine, MAIN, runHereUnwritten } from '../../support/command.ts';
import { csv } from '../../support/companies.ts';
import { growAccount } from '../../support/grown-account.ts';
import { startRowCounter } from '../../support/row-counter.ts';
import { until } from '../../support/until.ts';
import { importMain } from '../../support/whole.ts';
import { createWorkbench } from '../../support/workbench.ts';
import { commandNames, prepareCommands } from './every-command.ts';

const bench = await createWorkbench('postgres');
afterAll(() => bench.close());
const { account, words: WORDS } = await prepareCommands(bench);
// More than a pipe holds.
await bench.importText(csv(0, 5_000));
await bench.database.sql`
  INSERT INTO account_events (account_id, kind, actor, note)
  SELECT ${account}, 'plan', 'test', repeat('x', 1000) FROM generate_series(1, 2000)`;

test('the commands here are those of the program', async () => {
  expect(Object.keys(WORDS).toSorted()).toEqual(await commandNames());
});

const wordsOf = async (name: string) => [...name.split(' '), ...((await WORDS[name]?.()) ?? [])];

const NO_ROOM = 'the answer could not be written: ENOSPC';
const NO_READER = 'the answer could not be written: EPIPE';
/** Each way of printing: an answer, a list, a text in parts, few and many rows of COPY, and the help of commander. */
test.each([
  // Elsewhere there is no /dev/full.
  ...(process.platform !== 'linux'
    ? []
    : [
        ['account show', '> /dev/full', NO_ROOM],
        ['account list', '> /dev/full', NO_ROOM],
        ['debts export --kind tax', '> /dev/full', NO_ROOM],
        ['companies export', '> /dev/full', NO_ROOM],
        ['--help', '> /dev/full', NO_ROOM],
        // Its progress is lost, but not its answer.
        ['companies export', '> /dev/null 2> /dev/full', null],
      ]),
  // Of a list that a pipe holds it would depend on whether the reader ends first.
  ['account history', '| true', NO_READER],
  ['account export', '| head -2', NO_READER],
  ['companies export', '| head -1', NO_READER],
] as [string, string, string | null][])(
  'the process of %s %s ends, and so does its session, with 1 and one line if its answer is lost',
  async (name, redirection, reason) => {
    const child = Bun.spawn(
      [
        'bash',
        '-o',
        'pipefail',
        '-c',
        `"$0" "$@" ${redirection}`,
        process.execPath,
        MAIN,
        ...(await wordsOf(name)),
      ],
      {
        env: { ...bareEnvironment(), DATABASE_URL: bench.database.url },
        stdio: ['ignore', 'ignore', 'pipe'],
        timeout: 30_000,
        killSignal: 'SIGKILL',
      },
    );
    const [stderr, code] = await Promise.all([child.stderr.text(), child.exited]);
    const errors = stderr.split('\n').filter((line) => line.startsWith('error: '));
    expect([code, errors]).toEqual(reason === null ? [0, []] : [1, [expect.stringContaining(reason)]]);
    expect(stderr).not.toMatch(/\.ts:/);
    const sessions = () => bench.database.sql`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'company-directory%'`;
    await until('the end of its session', async () => (await sessions()).length === 0);
  },
);

test.each(Object.keys(WORDS))('%s fails when its answer can not be written', async (name) => {
  const env = { DATABASE_URL: bench.database.url };
  const { code, stdout, stderr } = await runHereUnwritten(env, ...(await wordsOf(name)));
  expect([code, stdout !== '', stderr]).toEqual([1, true, expect.stringMatching(/^error: ENOSPC$/m)]);
});

/** The members at the top of a declared answer, or `null` if it is no JSON of ours. */
function declaredMembers(help: string): { name: string; isOptional: boolean }[] | null {
  const [, answer] = /\nAnswer:\n([\s\S]*)$/.exec(help)!;
  const [, members] = /^\s*\[?\{([^\n]*(?:\n[^\n]*?)*?)\}\]?(?:\n|$)/.exec(answer!) ?? [];
  if (members === undefined) return null;
  // Without the members of members.
  const flat = members.replace(/: [[{]+[^{}]*[}\]]+/g, '').replace(/: string\[\]/g, '');
  return flat.split(',').map((member) => {
    const name = member.trim();
    return { name: name.replace('?', ''), isOptional: name.endsWith('?') };
  });
}

test('every command that declares a JSON answer answers these members and no other', async () => {
  // Their account has been deleted.
  const { words } = await prepareCommands(bench);
  const program = (await importMain()).createProgram();
  const { json } = createCommandLine(bench.database.url);
  let compared = 0;
  for (const [name, wordsOf] of Object.entries(words)) {
    const command = name
      .split(' ')
      .reduce<Command>((parent, word) => parent.commands.find((child) => child.name() === word)!, program);
    const declared = declaredMembers(helpOf(command));
    const rest = await wordsOf();
    if (declared === null) continue;
    const answer = await json(...name.split(' '), ...rest);
    const one = Array.isArray(answer) ? answer.at(-1) : answer;
    if (one === undefined) continue;
    const members = Object.keys(one).toSorted();
    const expected = declared.filter(({ name, isOptional }) => !isOptional || members.includes(name));
    expect([name, members]).toEqual([name, expected.map((member) => member.name).toSorted()]);
    compared += 1;
  }
  expect(compared).toBeGreaterThan(25);
});

/** The most rows that Postgres may answer at once, and rows of everything in an account that has grown. */
const [MOST, ROWS] = [1000, 1500];

test('no command reads whole what grew, and a list has every row', async () => {
  const bench = await createWorkbench('postgres');
  const { sql, url } = bench.database;
  const { account, words } = await prepareCommands(bench);
  const counter = await startRowCounter(url);
  const { json, run } = createCommandLine(counter.url(url));
  // The last places of members are free for the commands that need one.
  const { memberId } = await growAccount(sql, account, ROWS);
  await sql`DELETE FROM dashboard_members WHERE account_id = ${account} AND user_id > ${memberId}`;
  await sql`
    INSERT INTO accounts (id, name) SELECT 'acc_' || n, 'Padaria' FROM generate_series(1, ${ROWS}::integer) AS n`;
  await sql`
    INSERT INTO balances (account_id, plan, period_plan, period_start, period_end)
    SELECT 'acc_' || n, 'free', 'free', now(), now() + interval '1 month' FROM generate_series(1, ${ROWS}::integer) AS n`;
  expect((await json('key', 'list', account)).length).toBe(ROWS + 1);
  expect((await json('account', 'list')).length).toBe(ROWS + 1);
  expect((await json('account', 'history', account)).length).toBeGreaterThan(2 * ROWS);
  expect((await json('account', 'activity', account)).length).toBe(ROWS);
  const found: Record<string, number> = {};
  for (const [name, wordsOf] of Object.entries(words)) {
    const further = await wordsOf();
    counter.most();
    const { code, stderr } = await run(...name.split(' '), ...further);
    const rows = counter.most();
    if (code !== 0 || rows > MOST) found[`${name} → ${code} ${stderr}`] = rows;
  }
  await counter.close();
  await bench.close();
  expect(found).toEqual({});
});
