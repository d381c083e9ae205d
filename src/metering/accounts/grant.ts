import { RefusedError } from '../../platform/errors.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { lockAccount, requireAccount } from './account-store.ts';
import { type Actor, recordEvent } from './events.ts';

/** The most purchased credits of an account. A JSON number holds it exactly, and no sale reaches it. */
export const MAX_BALANCE = 1_000_000_000_000;

export interface Grant {
  /** A negative number takes unspent ones back. */
  credits: number;
  note?: string | undefined;
  /** For example of the sale. The same reference adds its credits once. */
  reference?: string | undefined;
}

/**
 * Adds purchased credits, or takes unspent ones back. Repeating it with the same reference changes nothing, so a caller that got no
 * answer can repeat it.
 *
 * @returns the balance afterwards
 * @throws RefusedError for an unknown account, a balance too large or below 0, or a reference that was used for another amount
 */
export async function grantCredits(sql: Sql, accountId: string, grant: Grant, actor: Actor): Promise<number> {
  const { credits, note = '', reference } = grant;
  return sql.begin(async (sql) => {
    await lockAccount(sql, accountId);
    const account = await requireAccount(sql, accountId);
    const balance = account.credits + credits;
    const event = { kind: 'credits', actor, credits, balance, note, reference } as const;
    if (!(await recordEvent(sql, accountId, event))) {
      const earlier = only(
        await sql<{ credits: number | null }[]>`
          SELECT credits FROM account_events WHERE account_id = ${accountId} AND reference = ${reference!}`,
      );
      if (earlier.credits !== credits) {
        throw new RefusedError(
          `reference ${JSON.stringify(reference)} already stands for ${earlier.credits} credits`,
        );
      }
      return account.credits;
    }
    // Checked last, because a repeated grant adds nothing.
    if (balance < 0) throw new RefusedError(`only ${account.credits} purchased credits are unspent`);
    if (balance > MAX_BALANCE) throw new RefusedError(`the balance would exceed ${MAX_BALANCE} credits`);
    await sql`UPDATE counters SET credits = ${balance} WHERE id = ${accountId}`;
    return balance;
  });
}
