import { runDirectory } from './directory.ts';

/** An account whose credits are known before the faults begin. */
export interface KnownAccount {
  id: string;
  key: string;
  included: number;
  granted: number;
}

/** The first never run out of credits. The second spend purchased credits, and the third run out of them. */
const KINDS = [
  { accounts: 12, included: 1_000_000, granted: 0 },
  { accounts: 4, included: 100, granted: 1_000_000 },
  { accounts: 4, included: 40, granted: 60 },
];

/** Twenty accounts on Plus, made by the command line of the checkout. No rate limit binds them. */
export async function createKnownAccounts(
  checkout: string,
  environment: Record<string, string>,
): Promise<KnownAccount[]> {
  const directory = (...words: string[]) => runDirectory(checkout, environment, words);
  const accounts: KnownAccount[] = [];
  for (const { accounts: count, included, granted } of KINDS) {
    for (let number = 0; number < count; number += 1) {
      const { id } = await directory('account', 'create', '--name', 'Faults', '--plan', 'plus');
      const limits = ['--requests-per-minute', '10000000', '--included-credits', String(included)];
      await directory('account', 'limits', id!, ...limits);
      if (granted > 0) await directory('account', 'credits', id!, '--add', String(granted));
      const { secret } = await directory('key', 'create', id!);
      accounts.push({ id: id!, key: secret!, included, granted });
    }
  }
  return accounts;
}
