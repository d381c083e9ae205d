import { CALL_KINDS } from '../../http/call-kind.ts';
import { type AccountDetails, creditsLeft } from '../../metering/accounts/store.ts';
import { inSlice, type Slice } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { DAY } from '../../platform/units.ts';

/** Days whose calls give the pace of an account. */
const PACE_DAYS = 7;

/**
 * The time when the account's credits are spent at its pace: the calls a day of the last seven days, or since its first call in
 * them, but at least over one day.
 *
 * @returns `'enough'` if credits last until the period ends; `null` if none are being spent
 */
export async function forecast(sql: Sql, account: AccountDetails): Promise<Date | 'enough' | null> {
  const [row] = await sql<{ perDay: number | null }[]>`
    SELECT sum(calls) / greatest(1, extract(epoch FROM now() - min(day)::timestamp AT TIME ZONE 'UTC') / 86400)::float8 AS "perDay"
    FROM account_counts
    WHERE account_id = ${account.id} AND kind IN ${sql(CALL_KINDS)} AND day > (now() AT TIME ZONE 'UTC')::date - ${PACE_DAYS}::integer`;
  const { perDay } = row!;
  if (!perDay) return null;
  const end = new Date(Date.now() + (creditsLeft(account) / perDay) * DAY);
  return end < account.period.end ? end : 'enough';
}

/** A grant of purchased credits, from the ledger. */
export interface Grant {
  id: number;
  at: Date;
  credits: number;
  /** Purchased credits after it. */
  balance: number;
  note: string;
  /** The operator's, such as the number of an invoice. */
  reference: string | null;
  /** The time of the next grant; `null` for the latest one. */
  until: Date | null;
  /** The credits that were left then, or are left now. */
  left: number;
}

/** The grants of an account in a slice, each with what the next one found. */
export async function loadGrants(sql: Sql, accountId: string, slice: Slice): Promise<Grant[]> {
  return sql<Grant[]>`
    SELECT e.id, e.at, e.credits, e.balance, e.note, e.reference, next.at AS until,
      coalesce(next.balance - next.credits, b.credits) AS left
    FROM account_events e JOIN balances b USING (account_id) LEFT JOIN LATERAL (
      SELECT at, balance, credits FROM account_events
      WHERE account_id = e.account_id AND kind = 'credits' AND id > e.id ORDER BY id LIMIT 1) AS next ON true
    WHERE e.account_id = ${accountId} AND e.kind = 'credits' ${inSlice(sql, sql`e.id`, slice)}`;
}

/** A grant, or the credits that calls beyond the allowance spent between two grants, or since the last one. */
export interface CreditEntry extends Omit<Grant, 'at' | 'id' | 'left'> {
  kind: 'grant' | 'spent';
  from: Date;
}

/**
 * Grants, and between them the credits that calls spent. The ledger has the balance after each grant; the credits that are
 * missing before the next one, or now, were spent. The amounts add up to the balance.
 *
 * @param grants the latest first
 * @returns the latest first
 */
export function creditHistory(grants: Grant[]): CreditEntry[] {
  return grants.flatMap(({ id: _, at, until, left, ...rest }) => {
    const grant: CreditEntry = { kind: 'grant', from: at, until: at, ...rest };
    const credits = left - rest.balance;
    if (credits === 0) return [grant];
    return [{ kind: 'spent', from: at, until, credits, balance: left, reference: null, note: '' }, grant];
  });
}
