import { join } from 'node:path';
import type { Plan } from '../../src/metering/accounts/plan.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import type { KnownAccount } from './accounts.ts';
import { runDirectory } from './directory.ts';

/** Changes by operators while the service runs. */
export interface Changes {
  plans: number;
  budgets: number;
  imports: number;
  /** Changes that failed. None may: they reach the stores past the proxies. */
  failed: string[];
  stop(): Promise<void>;
}

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
  { checkout, environment }: { checkout: string; environment: Record<string, string> },
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
  async function changePlan(round: number): Promise<void> {
    const { changePlan } = await import(join(checkout, 'src/metering/accounts/changes.ts'));
    const plan: Plan = Math.floor(round / changing.length) % 2 === 0 ? 'free' : 'plus';
    await changePlan(sql, changing[round % changing.length]!.id, plan, {}, 'faults');
  }
  const budgeted = accounts.filter(({ budget }) => budget !== null);
  async function raiseBudget(round: number): Promise<void> {
    const { limitKey } = await import(join(checkout, 'src/metering/keys/limit-key.ts'));
    const account = budgeted[round % budgeted.length]!;
    const credits = account.budget! + RAISED_BY;
    await limitKey(sql, account.keyId, { budget: { credits, per: 'ever' } }, 'faults');
    account.budget = credits;
  }
  const importFile = (round: number) =>
    runDirectory(checkout, environment, [
      ...['companies', 'import', files[round % files.length]!],
      ...['--replace', '--force'],
    ]);

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
    repeat('plans', PLAN_EVERY_MS, changePlan),
    repeat('budgets', BUDGET_EVERY_MS, raiseBudget),
    repeat('imports', IMPORT_EVERY_MS, importFile),
  ]);
  return changes;
}
