import { createAccount } from '../../src/metering/accounts/account-store.ts';
import { changeLimits } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { createKey } from '../../src/metering/keys/key-store.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';

export const ACTOR = 'faults';

/** An account whose credits are known before the faults begin. */
export interface KnownAccount {
  id: string;
  keyId: string;
  key: string;
  included: number;
  granted: number;
  /** Its plan changes again and again, and each change opens a period. */
  changesPlan: boolean;
  /** The budget of the account's only key, of `ever`, which is raised again and again; `null` means none. */
  budget: number | null;
}

type Kind = Omit<KnownAccount, 'id' | 'keyId' | 'key'>;

/**
 * The first never run out of credits. The second spend purchased credits, also in several periods. The third run out of them. The last
 * have more than the budget of their key.
 */
const KINDS: (Kind & { accounts: number })[] = [
  { accounts: 6, included: 1_000_000, granted: 0, changesPlan: false, budget: null },
  { accounts: 3, included: 100, granted: 1_000_000, changesPlan: false, budget: null },
  { accounts: 4, included: 20, granted: 1_000_000, changesPlan: true, budget: null },
  { accounts: 3, included: 40, granted: 60, changesPlan: false, budget: null },
  { accounts: 2, included: 1_000_000, granted: 0, changesPlan: false, budget: 50 },
  { accounts: 2, included: 20, granted: 1_000_000, changesPlan: true, budget: 50 },
];

/** Twenty accounts. */
export const createKnownAccounts = (sql: Sql): Promise<KnownAccount[]> =>
  Promise.all(
    KINDS.flatMap(({ accounts, ...kind }) =>
      Array.from({ length: accounts }, () => createKnownAccount(sql, 'Faults', kind)),
    ),
  );

/** An account on Plus with one key. No rate limit binds it. */
export async function createKnownAccount(
  sql: Sql,
  name: string,
  kind: Partial<Kind> & Pick<Kind, 'included'>,
): Promise<KnownAccount> {
  const { included, granted = 0, changesPlan = false, budget = null } = kind;
  const { id } = await createAccount(sql, { name, plan: 'plus' }, ACTOR);
  await changeLimits(sql, id, { requestsPerMinute: 10_000_000, includedCredits: included }, ACTOR);
  if (granted > 0) await grantCredits(sql, id, { credits: granted }, ACTOR);
  const limits = { budget: budget === null ? null : { credits: budget, per: 'ever' as const } };
  const { id: keyId, secret } = await createKey(sql, id, '', ACTOR, null, undefined, limits);
  return { id, keyId, key: secret, included, granted, changesPlan, budget };
}
