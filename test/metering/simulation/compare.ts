/**
 * Plays plain histories in the model and in a real Postgres: `DATABASE_URL=… bun test/metering/simulation/compare.ts [--seed N]
 * [--histories N] [--fault NAME]`. Both must end with the same answers, counters, days and activity.
 */
import { parseArgs } from 'node:util';
import { faultNamed, SQL_FAULTS } from './faults.ts';
import { loadBySeam } from './seam.ts';
import { replaceGlobals } from './world.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string' }, histories: { type: 'string' }, fault: { type: 'string' } },
});
loadBySeam(faultNamed(values.fault, SQL_FAULTS.compare));
replaceGlobals();
const { generateSecret } = await import('../../../src/metering/keys/secret.ts');
const { createAccount } = await import('../../../src/metering/accounts/account-store.ts');
const { changeLimits } = await import('../../../src/metering/accounts/changes.ts');
const { grantCredits } = await import('../../../src/metering/accounts/grant.ts');
const { createKey } = await import('../../../src/metering/keys/key-store.ts');
const { connectPostgres } = await import('../../../src/platform/postgres/connect.ts');
const { createHistory } = await import('./history.ts');
const { play } = await import('./play.ts');
const { ACTIVITY, COUNTERS, DAYS } = await import('./tables.ts');
type History = import('./history.ts').History;
type Played = import('./play.ts').Played;

const sql = connectPostgres(process.env.DATABASE_URL!, { max: 4, lockTimeoutMs: 300, pointQueries: true });
const first = Number(values.seed ?? 1);
const histories = Number(values.histories ?? 1);
for (let seed = first; seed < first + histories; seed += 1) {
  const history = createHistory(seed, true);
  await createAccounts(history);
  const expected = await play(history, { compared: 'model' });
  const found = await play(history, { compared: sql });
  const sides = { model: modelled(expected), postgres: await stored(history, found) };
  const parts = Object.keys(sides.model) as (keyof typeof sides.model)[];
  const differing = parts.filter((of) => !Bun.deepEquals(sides.model[of], sides.postgres[of]));
  if (differing.length === 0 && found.problems.length === 0) continue;
  console.log(`seed ${seed}, after ${seed - first + 1} histories: ${differing}`, found.problems.slice(0, 5));
  for (const of of differing) {
    const [model, postgres] = [sides.model[of], sides.postgres[of]];
    const at = model.findIndex((one, index) => !Bun.deepEquals(one, postgres[index]));
    console.log(`${of} ${at}: model`, model[at], 'postgres', postgres[at]);
  }
  process.exit(1);
}
console.log(`${histories} histories: Postgres ends as the model does`);
process.exit();

/** The accounts of the history, with the ids and secrets of real ones. */
async function createAccounts({ accounts }: History): Promise<void> {
  for (const account of accounts) {
    const { included, credits } = account;
    account.id = (await createAccount(sql, { name: 'Test', plan: 'free' }, 'test')).id;
    await changeLimits(sql, account.id, { includedCredits: included }, 'test');
    if (credits > 0) await grantCredits(sql, account.id, { credits }, 'test');
    for (const key of account.keys) {
      key.secret = generateSecret(Buffer.from(crypto.getRandomValues(new Uint8Array(21))));
      const limits = { budget: key.budget, only: null };
      key.id = (await createKey(sql, account.id, '', 'test', null, key.secret, limits)).id;
    }
  }
}

function answers({ calls }: Played) {
  return calls.map(({ charged, spent, used, left, bound, problem, isRepeated }) => ({
    ...{ charged, spent, used, left, bound, problem, isRepeated },
  }));
}

function modelled(played: Played) {
  const { engine } = played;
  const counters = engine.all(COUNTERS).map(([id, { used, usedPurchased, purchasedBefore, credits }]) => ({
    ...{ id, used, usedPurchased, purchasedBefore, credits },
  }));
  const counted = engine.all(DAYS).filter(([, { calls }]) => calls !== 0);
  const days = counted.map(([key, { calls }]) => `${key.split(' ')[2]} ${calls}`);
  const activity = engine
    .all(ACTIVITY)
    .flatMap(([, { accountId, kind, rows }]) =>
      rows.map(({ callId, credits }) => `${accountId} ${kind} ${callId} ${credits}`),
    );
  return { answers: answers(played), counters, days: days.sort(), activity: activity.sort() };
}

async function stored({ accounts }: History, played: Played): Promise<ReturnType<typeof modelled>> {
  const ids = accounts.map(({ id }) => id);
  const ofKeys = accounts.flatMap(({ keys }) => keys.map(({ id }) => id));
  const counters = await sql<ReturnType<typeof modelled>['counters']>`
    SELECT id, used, used_purchased AS "usedPurchased", purchased_before AS "purchasedBefore", credits
    FROM counters WHERE id = ANY (${[...ids, ...ofKeys]}) ORDER BY id`;
  const days = await sql<{ line: string }[]>`
    SELECT key_id || ' ' || sum(calls) AS line FROM calls_by_day WHERE account_id = ANY (${ids}) GROUP BY account_id, day, key_id, kind`;
  const activity = await sql<{ line: string }[]>`
    SELECT concat_ws(' ', account_id, kind, call_id, credits) AS line
    FROM activity WHERE account_id = ANY (${ids})`;
  return {
    answers: answers(played),
    counters: counters.map((row) => ({ ...row })),
    days: days.map(({ line }) => line).sort(),
    activity: activity.map(({ line }) => line).sort(),
  };
}
