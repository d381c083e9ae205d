/** No command reads whole what a customer can make grow: the commands are the program's own list. */
import { afterAll, expect, test } from 'bun:test';
import { createCommandLine } from '../../support/command.ts';
import { growAccount } from '../../support/grown-account.ts';
import { startRowCounter } from '../../support/row-counter.ts';
import { createWorkbench } from '../../support/workbench.ts';
import { commandNames } from './command-names.ts';
import { prepareCommands } from './every-command.ts';

/** The most rows that Postgres may answer at once, and rows of everything in the account. */
const [MOST, ROWS] = [1000, 1500];

const bench = await createWorkbench('postgres');
const { sql, url } = bench.database;
const counter = await startRowCounter(url);
afterAll(async () => {
  await counter.close();
  await bench.close();
});
const { account, words } = await prepareCommands(bench);
const { json, run } = createCommandLine(counter.url(url));

test('no command reads whole what grew, and a list has every row', async () => {
  // The last places of members are free for the commands that need one.
  const { memberId } = await growAccount(sql, account, ROWS);
  await sql`DELETE FROM dashboard_members WHERE account_id = ${account} AND user_id > ${memberId}`;
  await sql`
    INSERT INTO accounts (id, name) SELECT 'acc_' || n, 'Padaria' FROM generate_series(1, ${ROWS}::integer) AS n`;
  await sql`
    INSERT INTO balances (account_id, plan, period_plan, period_start, period_end)
    SELECT 'acc_' || n, 'free', 'free', now(), now() + interval '1 month' FROM generate_series(1, ${ROWS}::integer) AS n`;
  expect(await commandNames()).toEqual(Object.keys(words).toSorted());
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
  expect(found).toEqual({});
});
