import type { AccountDetails } from '../../metering/accounts/store.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { DAY } from '../../platform/units.ts';
import type { Days } from './range.ts';

/**
 * Calls that the account can still make: the rest of its allowance, and purchased credits if it spends them (specification, Get
 * usage, Derived values).
 */
export function availableCredits(account: AccountDetails): number {
  const { includedCredits, used, credits, spendPurchased } = account;
  return Math.max(0, includedCredits - used) + (spendPurchased ? credits : 0);
}

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
    FROM calls_by_day WHERE account_id = ${account.id} AND day > (now() AT TIME ZONE 'UTC')::date - ${PACE_DAYS}::integer`;
  const { perDay } = row!;
  if (!perDay) return null;
  const end = new Date(Date.now() + (availableCredits(account) / perDay) * DAY);
  return end < account.period.end ? end : 'enough';
}

/** A grant of purchased credits, from the ledger. */
interface Grant {
  at: Date;
  credits: number;
  /** Purchased credits after it. */
  balance: number;
  note: string;
  /** The operator's, such as the number of an invoice. */
  reference: string | null;
}

/** Every grant of the account, the latest first. */
export async function loadGrants(sql: Sql, accountId: string): Promise<Grant[]> {
  return sql<Grant[]>`
    SELECT at, credits, balance, note, reference FROM account_events
    WHERE account_id = ${accountId} AND kind = 'credits' ORDER BY id DESC`;
}

/** A grant, or the credits that calls beyond the allowance spent between two grants, or since the last one. */
export interface CreditEntry extends Omit<Grant, 'at'> {
  kind: 'grant' | 'spent';
  from: Date;
  /** `null` means now. */
  until: Date | null;
}

/** The entries of some days: grants on them, and spending that may have been on one of them. @param days `null` means all */
export function entriesOf(entries: CreditEntry[], days: Days | null): CreditEntry[] {
  if (days === null) return entries;
  const [start, end] = [Date.parse(days.from), Date.parse(days.to) + DAY];
  return entries.filter(
    ({ from, until }) => from.getTime() < end && (until?.getTime() ?? Date.now()) >= start,
  );
}

/**
 * The grants, and between them the credits that calls spent. The ledger has the balance after each grant; the credits that are
 * missing before the next one were spent. The amounts add up to the balance.
 *
 * @param grants the latest first; @param balance purchased credits now
 * @returns the latest first
 */
export function creditHistory(grants: Grant[], balance: number): CreditEntry[] {
  const entries: CreditEntry[] = [];
  let next: { balance: number; at: Date | null } = { balance, at: null };
  for (const { at, ...grant } of grants) {
    const spent = { credits: next.balance - grant.balance, balance: next.balance, reference: null, note: '' };
    if (spent.credits !== 0) entries.push({ kind: 'spent', from: at, until: next.at, ...spent });
    entries.push({ kind: 'grant', from: at, until: at, ...grant });
    next = { balance: grant.balance - grant.credits, at };
  }
  return entries;
}
