import { runDirectory } from './directory.ts';

/** An account whose credits are known before the faults begin. */
export interface KnownAccount {
  id: string;
  key: string;
  included: number;
  granted: number;
  /** Its plan changes again and again, and each change opens a period. */
  changesPlan: boolean;
}

type Kind = Omit<KnownAccount, 'id' | 'key'>;

/** The first never run out of credits. The second spend purchased credits, also in several periods. The last run out of them. */
const KINDS: (Kind & { accounts: number })[] = [
  { accounts: 9, included: 1_000_000, granted: 0, changesPlan: false },
  { accounts: 4, included: 100, granted: 1_000_000, changesPlan: false },
  { accounts: 4, included: 20, granted: 1_000_000, changesPlan: true },
  { accounts: 3, included: 40, granted: 60, changesPlan: false },
];

/** Commands at a time. */
const LANES = 4;

/** Twenty accounts on Plus, made by the command line of the checkout. No rate limit binds them. */
export async function createKnownAccounts(
  checkout: string,
  environment: Record<string, string>,
): Promise<KnownAccount[]> {
  const directory = (...words: string[]) => runDirectory(checkout, environment, words);
  const create = async ({ included, granted, changesPlan }: Kind): Promise<KnownAccount> => {
    const { id } = await directory('account', 'create', '--name', 'Faults', '--plan', 'plus');
    const limits = ['--requests-per-minute', '10000000', '--included-credits', String(included)];
    await directory('account', 'limits', id!, ...limits);
    if (granted > 0) await directory('account', 'credits', id!, '--add', String(granted));
    const { secret } = await directory('key', 'create', id!);
    return { id: id!, key: secret!, included, granted, changesPlan };
  };
  const wanted = KINDS.flatMap((kind) => Array.from({ length: kind.accounts }, () => kind));
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const accounts: KnownAccount[] = [];
    for (let at = lane; at < wanted.length; at += LANES) accounts.push(await create(wanted[at]!));
    return accounts;
  });
  return (await Promise.all(lanes)).flat();
}
