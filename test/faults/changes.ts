import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../bench/lib/revision.ts';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import type { Plan } from '../../src/metering/accounts/plan.ts';
import { limitKey } from '../../src/metering/keys/limit-key.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { ACTOR, type KnownAccount } from './accounts.ts';

/** Changes by operators while the service runs. */
export interface Changes {
  plans: number;
  budgets: number;
  imports: number;
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

/**
 * Changes plans, raises budgets of keys, and imports one directory after the other in place of the last, until `stop`.
 * @param files each a whole directory
 */
export function startChanges(
  sql: Sql,
  accounts: KnownAccount[],
  files: string[],
  environment: Record<string, string>,
): Changes {
  const stopping = Promise.withResolvers<void>();
  let isStopped = false;

  async function repeat(
    what: 'plans' | 'budgets' | 'imports',
    everyMs: number,
    work: (round: number) => Promise<unknown>,
  ) {
    for (let round = 0; !isStopped; round += 1) {
      try {
        await work(round);
        changes[what] += 1;
      } catch (error) {
        changes.failed.push(`${what}: ${error}`);
      }
      await Promise.race([Bun.sleep(everyMs), stopping.promise]);
    }
  }

  const changing = accounts.filter(({ changesPlan }) => changesPlan);
  async function changeNext(round: number): Promise<void> {
    const plan: Plan = Math.floor(round / changing.length) % 2 === 0 ? 'free' : 'plus';
    await changePlan(sql, changing[round % changing.length]!.id, plan, {}, ACTOR);
  }
  const budgeted = accounts.filter(({ budget }) => budget !== null);
  async function raiseBudget(round: number): Promise<void> {
    const account = budgeted[round % budgeted.length]!;
    const credits = account.budget! + RAISED_BY;
    await limitKey(sql, account.keyId, { budget: { credits, per: 'ever' } }, ACTOR);
    account.budget = credits;
  }
  const importFile = (round: number) =>
    run(
      [process.execPath, MAIN, 'companies', 'import', files[round % files.length]!, '--replace', '--force'],
      tmpdir(),
      environment,
    );

  const changes: Changes = {
    plans: 0,
    budgets: 0,
    imports: 0,
    failed: [],
    async stop() {
      isStopped = true;
      stopping.resolve();
      await running;
    },
  };
  const running = Promise.all([
    repeat('plans', PLAN_EVERY_MS, changeNext),
    repeat('budgets', BUDGET_EVERY_MS, raiseBudget),
    repeat('imports', IMPORT_EVERY_MS, importFile),
  ]);
  return changes;
}
