/**
 * Plays plain histories in the model and in a real Postgres: `DATABASE_URL=… bun test/metering/simulation/compare.ts [--seed N]
 * [--histories N] [--fault NAME]`. Both must end with the same answers, balances, budgets, days and activity.
 */
import { parseArgs } from 'node:util';
import { faultNamed, SQL_FAULTS } from './faults.ts';
import { loadBySeam } from './seam.ts';
import { replaceGlobals } from './world.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string' }, histories: { type: 'string' }, fault: { type: 'string' } },
});
loadBySeam(faultNamed(SQL_FAULTS, values.fault)?.patches);
replaceGlobals();
const { generateSecret } = await import('../../../src/metering/keys/secret.ts');
const { createAccount } = await import('../../../src/metering/accounts/account-store.ts');
const { changeLimits } = await import('../../../src/metering/accounts/changes.ts');
const { grantCredits } = await import('../../../src/metering/accounts/grant.ts');
const { createKey } = await import('../../../src/metering/keys/key-store.ts');
const { connectPostgres } = await import('../../../src/platform/postgres/connect.ts');
const { createHistory } = await import('./history.ts');
const { play } = await import('./play.ts');
const { ACTIVITY, BALANCES, BUDGETS, DAYS } = await import('./tables.ts');
type History = import('./history.ts').History;
type Played = import('./play.ts').Played;

const sql = connectPostgres(process.env.DATABASE_URL!, { max: 4, lockTimeoutMs: 300, pointQueries: true });
const first = Number(values.seed ?? 1);
const histories = Number(values.histories ?? 1);
let statements = 0;
for (let seed = first; seed < first + histories; seed += 1) {
  const history = createHistory(seed, true);
  await createAccounts(history);
  const expected = await play(history, { compared: 'model' });
  const found = await play(history, { compared: sql });
  statements += found.statements;
  const sides = { model: modelled(history, expected), postgres: await stored(history, found) };
  const differing = Object.keys(sides.model).filter(
    (of) => !Bun.deepEquals(sides.model[of as 'days'], sides.postgres[of as 'days']),
  );
  if (differing.length === 0 && found.problems.length === 0) continue;
  console.log(`seed ${seed}, after ${seed - first + 1} histories: ${differing}`, found.problems.slice(0, 5));
  for (const of of differing) {
    const [model, postgres] = [sides.model, sides.postgres].map(
      (side) => side[of as 'days'].flat() as unknown[],
    );
    const at = model!.findIndex((one, index) => !Bun.deepEquals(one, postgres![index]));
    console.log(`${of} ${at}: model`, model![at], 'postgres', postgres![at]);
  }
  process.exit(1);
}
console.log(`${histories} histories, ${statements} statements: Postgres ends as the model does`);
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

function modelled({ accounts }: History, played: Played) {
  const { engine } = played;
  const ids = accounts.map(({ id }) => id);
  return {
    answers: answers(played),
    balances: ids.map((id) => {
      const { used, usedPurchased, purchasedBefore, credits } = new Map(engine.all(BALANCES)).get(id)!;
      return { used, usedPurchased, purchasedBefore, credits };
    }),
    budgets: accounts.flatMap(({ keys }) =>
      keys.map((key) => (key.budget === null ? 0 : new Map(engine.all(BUDGETS)).get(key.id)!.used)),
    ),
    days: engine
      .all(DAYS)
      .filter(([, { calls }]) => calls !== 0)
      .map(([key, { calls }]) => `${key.split(' ')[2]} ${calls}`)
      .sort(),
    activity: ids.map((id) =>
      engine
        .all(ACTIVITY)
        .flatMap(([, part]) =>
          part.accountId === id
            ? part.rows.map(({ callId, credits }) => `${part.kind} ${callId} ${credits}`)
            : [],
        )
        .sort(),
    ),
  };
}

async function stored({ accounts }: History, played: Played): Promise<ReturnType<typeof modelled>> {
  const each = <T>(read: (account: History['accounts'][number]) => Promise<T>) =>
    Promise.all(accounts.map(read));
  return {
    answers: answers(played),
    balances: await each(async ({ id }) => ({
      ...(
        await sql<ReturnType<typeof modelled>['balances']>`
          SELECT used, used_purchased AS "usedPurchased", purchased_before AS "purchasedBefore", credits
          FROM counters WHERE id = ${id}`
      )[0]!,
    })),
    budgets: (
      await each(async ({ keys }) => {
        const used: number[] = [];
        for (const key of keys) {
          const [row] = await sql<{ used: number }[]>`SELECT used FROM counters WHERE id = ${key.id}`;
          used.push(key.budget === null ? 0 : row!.used);
        }
        return used;
      })
    ).flat(),
    days: (
      await each(
        ({ id }) => sql<{ keyId: string; calls: number }[]>`
          SELECT key_id AS "keyId", sum(calls)::bigint AS calls FROM calls_by_day WHERE account_id = ${id} GROUP BY key_id, day, kind`,
      )
    )
      .flatMap((rows) => rows.map(({ keyId, calls }) => `${keyId} ${calls}`))
      .sort(),
    activity: await each(async ({ id }) =>
      (
        await sql<{ line: string }[]>`
          SELECT kind || ' ' || coalesce(call_id::text, '') || ' ' || coalesce(credits, 0) AS line FROM activity WHERE account_id = ${id}`
      )
        .map(({ line }) => line)
        .sort(),
    ),
  };
}
