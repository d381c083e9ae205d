import type { Caller } from '../keys/authenticate.ts';

/** The key and the account of a caller. The key is '' for a call made in the dashboard. */
export type Owner = Pick<Caller, 'accountId' | 'keyId'>;

/** Notes of one kind in memory. Each has a bound; what it has no room for is not noted. */
export interface Kept<Taken> {
  /** Takes all of them, to be written; `null` means that there are none. */
  take(): Taken | null;
  /** Writes them in one statement. */
  store(taken: Taken): PromiseLike<unknown>;
  /** Takes them back, because Postgres has answered that nothing was written. */
  keep(taken: Taken): void;
}
