import { join } from 'node:path';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import type { KnownAccount } from './accounts.ts';
import { type Load, SCREENED } from './load.ts';

/** A client that sends the same keyed request twice at once for an account's last credits, each time for a new account. */
export interface LastCredits {
  accounts: KnownAccount[];
  stop(): Promise<void>;
}

const EVERY_MS = 250;

export async function startLastCredits(sql: Sql, load: Load, checkout: string): Promise<LastCredits> {
  const { createAccount } = await import(join(checkout, 'src/metering/accounts/store.ts'));
  const { changeLimits } = await import(join(checkout, 'src/metering/accounts/changes.ts'));
  const { createKey } = await import(join(checkout, 'src/metering/keys/store.ts'));
  const accounts: KnownAccount[] = [];
  let isStopped = false;

  async function create(): Promise<KnownAccount> {
    const { id } = await createAccount(sql, { name: 'Last credits', plan: 'plus' }, 'faults');
    await changeLimits(sql, id, { requestsPerMinute: 10_000, includedCredits: SCREENED }, 'faults');
    const { id: keyId, secret } = await createKey(sql, id, '', 'faults');
    return { id, keyId, key: secret, included: SCREENED, granted: 0, changesPlan: false, budget: null };
  }

  async function repeat(): Promise<void> {
    for (; !isStopped; await Bun.sleep(EVERY_MS)) {
      const account = await create();
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
