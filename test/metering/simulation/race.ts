/**
 * Two processes at once on a real Postgres: `DATABASE_URL=… bun test/metering/simulation/race.ts [--seconds N] [--fault NAME]`. Each charges,
 * refunds and rolls up the same few accounts as fast as it can, while budgets, limits and purchased credits change. At the end the sums
 * must be right, and no statement may have been in a deadlock.
 */
import { parseArgs } from 'node:util';
import { faultNamed, SQL_FAULTS } from './faults.ts';
import { loadBySeam } from './seam.ts';
import { createRandom } from './world.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    fault: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** Of a process that races: the accounts. */
    accounts: { type: 'string' },
  },
});
loadBySeam(faultNamed(values.fault, SQL_FAULTS.race));
const { connectPostgres, isLockTimeout } = await import('../../../src/platform/postgres/connect.ts');
const { createCredits } = await import('../../../src/metering/credits/charge.ts');
const { refundOwed } = await import('../../../src/metering/credits/refund.ts');
const { rollUpCalls } = await import('../../../src/metering/credits/rollup.ts');
const { grantCredits } = await import('../../../src/metering/accounts/grant.ts');
const { changeLimits } = await import('../../../src/metering/accounts/changes.ts');
const { createAccount } = await import('../../../src/metering/accounts/account-store.ts');
const { createKey } = await import('../../../src/metering/keys/key-store.ts');
const { limitKey } = await import('../../../src/metering/keys/limit-key.ts');

interface Account {
  id: string;
  included: number;
  keys: string[];
}
/** Credits that the answers have used, by account, and what has gone wrong. */
interface Outcome {
  used: Record<string, number>;
  problems: string[];
}

const pool = (max: number) =>
  connectPostgres(process.env.DATABASE_URL!, { max, lockTimeoutMs: 2000, pointQueries: true });
const BUDGET = 400;
const random = createRandom(Number(values.seed));

if (values.accounts === undefined) await judge();
else console.log(JSON.stringify(await race(JSON.parse(values.accounts) as Account[])));
process.exit();

/** What one of the processes does. */
async function race(accounts: Account[]): Promise<Outcome> {
  const [sql, changes] = [pool(8), pool(2)];
  const outcome: Outcome = { used: Object.fromEntries(accounts.map(({ id }) => [id, 0])), problems: [] };
  const credits = [createCredits(sql), createCredits(sql)];
  const untilMs = performance.now() + Number(values.seconds) * 1000;
  const isOn = () => performance.now() < untilMs && outcome.problems.length === 0;
  /** A busy machine may refuse a call, which then costs nothing. */
  const failed = (error: Error & { code?: string }) => {
    const isOfPostgres = error.code !== undefined && !isLockTimeout(error);
    if (isOfPostgres) outcome.problems.push(`${error.code} ${error.message}`);
  };
  async function call(): Promise<void> {
    const { id, keys } = random.one(accounts);
    const key = random.below(3);
    const paid = await random.one(credits).charge({
      ...{ accountId: id, keyId: keys[key] ?? '', kind: 'lookup', credits: 1 + random.below(6) },
      ...{ hasBudget: key === 0, activity: `${crypto.randomUUID()}\tGET /x` },
    });
    const back = random.chance(0.5) ? random.below(paid.spent + 1) : 0;
    outcome.used[id]! += paid.spent - back;
    await paid.refund(back);
  }
  async function repeat(work: () => Promise<unknown>): Promise<void> {
    while (isOn()) await work().catch(failed);
  }
  const operate = async () => {
    const { id, keys } = random.one(accounts);
    if (random.chance(0.5)) await grantCredits(changes, id, { credits: 1 }, 'test');
    else await limitKey(changes, keys[0]!, { budget: { credits: BUDGET, per: 'ever' } }, 'test');
    await Bun.sleep(5);
  };
  await Promise.all([
    ...Array.from({ length: 24 }, () => repeat(call)),
    ...[repeat(() => refundOwed(sql)), repeat(() => rollUpCalls(sql)), repeat(operate)],
  ]);
  for (const ledger of credits) await ledger.close(5000);
  return outcome;
}

async function judge(): Promise<void> {
  const sql = pool(2);
  const accounts = await Promise.all(
    [0, 100, 100_000].map(async (included): Promise<Account> => {
      const { id } = await createAccount(sql, { name: 'Test', plan: 'free' }, 'test');
      await changeLimits(sql, id, { includedCredits: included }, 'test');
      await grantCredits(sql, id, { credits: 300 }, 'test');
      const limits = { budget: { credits: BUDGET, per: 'ever' as const }, only: null };
      const limited = await createKey(sql, id, '', 'test', null, undefined, limits);
      const unlimited = await createKey(sql, id, '', 'test');
      return { id, included, keys: [limited.id, unlimited.id] };
    }),
  );
  const fault = values.fault === undefined ? [] : ['--fault', values.fault];
  const words = ['--accounts', JSON.stringify(accounts), '--seconds', values.seconds, ...fault];
  const outcomes = await Promise.all(
    ['1', '2'].map(async (seed) => {
      const command = [process.execPath, import.meta.path, ...words, '--seed', seed];
      const child = Bun.spawn(command, { stderr: 'inherit' });
      return JSON.parse(await new Response(child.stdout).text()) as Outcome;
    }),
  );
  const problems = outcomes.flatMap((outcome) => outcome.problems);
  if (outcomes.some(({ used }) => Object.values(used).every((credits) => credits === 0)))
    problems.push('a process charged nothing');
  for (let rows = 1; rows > 0; ) rows = (await rollUpCalls(sql)).rows;
  await refundOwed(sql);
  for (const { id, included, keys } of accounts) {
    const used = outcomes[0]!.used[id]! + outcomes[1]!.used[id]!;
    const [stored] = await sql<Record<string, number>[]>`
      SELECT used, used_purchased AS purchased, credits + used_purchased + purchased_before AS granted,
        (SELECT sum(credits)::bigint FROM account_events WHERE account_id = ${id} AND kind = 'credits') AS bought,
        (SELECT coalesce(sum(calls), 0)::bigint FROM calls_by_day WHERE account_id = ${id}) AS days,
        (SELECT coalesce(sum(credits), 0)::bigint FROM activity WHERE account_id = ${id}) AS activity,
        (SELECT used FROM counters WHERE id = ${keys[0]!}) AS budget,
        (SELECT coalesce(sum(calls), 0)::bigint FROM calls_by_day WHERE account_id = ${id} AND key_id = ${keys[0]!}) AS "ofKey"
      FROM counters WHERE id = ${id}`;
    const { bought, ofKey } = stored!;
    const sums = { used, days: used, activity: used, purchased: Math.max(0, used - included) };
    const expected = { ...sums, granted: bought, bought, budget: ofKey, ofKey };
    if (!Bun.deepEquals({ ...stored }, expected))
      problems.push(`${included} included: ${JSON.stringify(stored)} instead of ${JSON.stringify(expected)}`);
    if (ofKey! > BUDGET) problems.push(`the key has spent ${ofKey} of ${BUDGET}`);
  }
  const [row] = await sql<{ deadlocks: number }[]>`
    SELECT pg_stat_clear_snapshot(), deadlocks FROM pg_stat_database WHERE datname = current_database()`;
  if (row!.deadlocks > 0) problems.push(`${row!.deadlocks} deadlocks`);
  console.log(problems.length === 0 ? 'all right' : problems.slice(0, 6).join('\n'));
  process.exit(problems.length === 0 ? 0 : 1);
}
