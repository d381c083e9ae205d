import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../bench/lib/revision.ts';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import type { Plan } from '../../src/metering/accounts/plan.ts';
import { limitKey } from '../../src/metering/keys/limit-key.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { ACTOR, createKnownAccount, type KnownAccount } from './accounts.ts';
import { type Load, SCREENED } from './load.ts';

/** Changes by operators while the service runs. */
export interface Changes {
  plans: number;
  budgets: number;
  imports: number;
  /** New accounts, whose last credits a client spends by the same keyed request twice at once. */
  spent: KnownAccount[];
  /** Changes that failed. None may: they reach the stores past the proxies. */
  failed: string[];
  stop(): Promise<void>;
}

const MAIN = join(import.meta.dir, '../../src/main.ts');
const PLAN_EVERY_MS = 500;
const BUDGET_EVERY_MS = 400;
/** Credits by which a budget is raised. */
const RAISED_BY = 10;
const IMPORT_EVERY_MS = 2000;
const SPEND_EVERY_MS = 250;

/**
 * Changes plans, raises budgets of keys, imports one directory after the other in place of the last, and creates accounts, until `stop`.
 * @param files each a whole directory
 */
export function startChanges(
  sql: Sql,
  accounts: KnownAccount[],
  load: Load,
  files: string[],
  environment: Record<string, string>,
): Changes {
  const stopping = Promise.withResolvers<void>();
  let isStopped = false;

  async function repeat(everyMs: number, work: (round: number) => Promise<unknown>) {
    for (let round = 0; !isStopped; round += 1) {
      await work(round).catch((error) => changes.failed.push(`${work.name}: ${error}`));
      await Promise.race([Bun.sleep(everyMs), stopping.promise]);
    }
  }

  const changing = accounts.filter(({ changesPlan }) => changesPlan);
  async function changeNext(round: number): Promise<void> {
    const plan: Plan = Math.floor(round / changing.length) % 2 === 0 ? 'free' : 'plus';
    await changePlan(sql, changing[round % changing.length]!.id, plan, {}, ACTOR);
    changes.plans += 1;
  }
  const budgeted = accounts.filter(({ budget }) => budget !== null);
  async function raiseBudget(round: number): Promise<void> {
    const account = budgeted[round % budgeted.length]!;
    const credits = account.budget! + RAISED_BY;
    await limitKey(sql, account.keyId, { budget: { credits, per: 'ever' } }, ACTOR);
    account.budget = credits;
    changes.budgets += 1;
  }
  async function importFile(round: number): Promise<void> {
    const words = ['companies', 'import', files[round % files.length]!, '--replace', '--force'];
    await run([process.execPath, MAIN, ...words], tmpdir(), environment);
    changes.imports += 1;
  }
  async function spendLast(): Promise<void> {
    const account = await createKnownAccount(sql, 'Last credits', { included: SCREENED });
    changes.spent.push(account);
    await load.spendLast(account);
  }

  const changes: Changes = {
    plans: 0,
    budgets: 0,
    imports: 0,
    spent: [],
    failed: [],
    async stop() {
      isStopped = true;
      stopping.resolve();
      await running;
    },
  };
  const running = Promise.all([
    repeat(PLAN_EVERY_MS, changeNext),
    repeat(BUDGET_EVERY_MS, raiseBudget),
    repeat(IMPORT_EVERY_MS, importFile),
    repeat(SPEND_EVERY_MS, spendLast),
  ]);
  return changes;
}
