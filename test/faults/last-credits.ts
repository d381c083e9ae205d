import type { Sql } from '../../src/platform/postgres/connect.ts';
import { createKnownAccount, type KnownAccount } from './accounts.ts';
import { type Load, SCREENED } from './load.ts';

/** A client that sends the same keyed request twice at once for an account's last credits, each time for a new account. */
export interface LastCredits {
  accounts: KnownAccount[];
  stop(): Promise<void>;
}

const EVERY_MS = 250;

export function startLastCredits(sql: Sql, load: Load): LastCredits {
  const accounts: KnownAccount[] = [];
  let isStopped = false;

  async function repeat(): Promise<void> {
    for (; !isStopped; await Bun.sleep(EVERY_MS)) {
      const account = await createKnownAccount(sql, 'Last credits', { included: SCREENED });
      accounts.push(account);
      await load.spendLast(account);
    }
  }
  const running = repeat();
  return {
    accounts,
    async stop() {
      isStopped = true;
      await running;
    },
  };
}
