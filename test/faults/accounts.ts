import { join } from 'node:path';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { runDirectory } from './directory.ts';

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

/** Commands at a time. */
const LANES = 4;

/** Twenty accounts on Plus, made by the command line of the checkout. No rate limit binds them. */
export async function createKnownAccounts(
  checkout: string,
  environment: Record<string, string>,
): Promise<KnownAccount[]> {
  const directory = (...words: string[]) => runDirectory(checkout, environment, words);
  const create = async ({ included, granted, changesPlan, budget }: Kind): Promise<KnownAccount> => {
    const { id } = await directory('account', 'create', '--name', 'Faults', '--plan', 'plus');
    const bounds = ['--requests-per-minute', '10000000', '--included-credits', String(included)];
    await directory('account', 'limits', id!, ...bounds);
    if (granted > 0) await directory('account', 'credits', id!, '--add', String(granted));
    const limits = budget === null ? [] : ['--credits', String(budget), '--per', 'ever'];
    const { id: keyId, secret } = await directory('key', 'create', id!, ...limits);
    return { id: id!, keyId: keyId!, key: secret!, included, granted, changesPlan, budget };
  };
  const wanted = KINDS.flatMap((kind) => Array.from({ length: kind.accounts }, () => kind));
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const accounts: KnownAccount[] = [];
    for (let at = lane; at < wanted.length; at += LANES) accounts.push(await create(wanted[at]!));
    return accounts;
  });
  return (await Promise.all(lanes)).flat();
}

/** One account on Plus with so many included credits and one key, made at once by the checkout's code. No rate limit binds it. */
export async function createKnownAccount(
  sql: Sql,
  checkout: string,
  name: string,
  included: number,
): Promise<KnownAccount> {
  const { createAccount } = await import(join(checkout, 'src/metering/accounts/account-store.ts'));
  const { changeLimits } = await import(join(checkout, 'src/metering/accounts/changes.ts'));
  const { createKey } = await import(join(checkout, 'src/metering/keys/key-store.ts'));
  const { id } = await createAccount(sql, { name, plan: 'plus' }, 'faults');
  await changeLimits(sql, id, { requestsPerMinute: 10_000_000, includedCredits: included }, 'faults');
  const { id: keyId, secret } = await createKey(sql, id, '', 'faults');
  return { id, keyId, key: secret, included, granted: 0, changesPlan: false, budget: null };
}
