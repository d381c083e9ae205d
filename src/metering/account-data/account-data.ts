import type { RowsQuery } from '../../platform/postgres/batches.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';

/** The rows of accounts that one wing stores in its tables. `src/dashboard/account-data` runs these for all wings. */
export interface AccountData {
  /**
   * The lists of an export, by their names in the document.
   * @param reader the id of the member who reads it; absent: an operator
   */
  lists(sql: Transaction, accountId: string, reader?: string): Record<string, RowsQuery>;
  /** Removes in parts the rows that have no bound, before the transaction of a deletion. The account still works. */
  removeInParts?(sql: Sql, accountId: string): Promise<void>;
  /** Removes the other rows, in the transaction of a deletion, which has locked the account. */
  remove(sql: Transaction, accountId: string): Promise<void>;
  /** The condition of the rows that have expired, of all accounts, by table. */
  expired?(sql: Sql): Record<string, RowsQuery>;
}
