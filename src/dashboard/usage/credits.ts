import { CALL_KINDS } from '../../http/call-kind.ts';
import type { AccountDetails } from '../../metering/accounts/store.ts';
import { only } from '../../platform/postgres/answer.ts';
import { inSlice, type Slice } from '../../platform/postgres/batches.ts';
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
    FROM account_counts
    WHERE account_id = ${account.id} AND kind IN ${sql(CALL_KINDS)} AND day > (now() AT TIME ZONE 'UTC')::date - ${PACE_DAYS}::integer`;
  const { perDay } = row!;
  if (!perDay) return null;
  const end = new Date(Date.now() + (availableCredits(account) / perDay) * DAY);
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
}

const fromGrants = (sql: Sql, accountId: string) =>
  sql`FROM account_events WHERE account_id = ${accountId} AND kind = 'credits'`;

/** The ids of the grants that may have an entry in some days. A grant on a day before has one if its credits were spent in them. */
interface GrantSpan {
  above?: number;
  below?: number;
  /** The day of the account's first grant, YYYY-MM-DD; `null` if it has none. */
  first: string | null;
}

/** @param days `null` means all */
export async function grantSpan(sql: Sql, accountId: string, days: Days | null): Promise<GrantSpan> {
  const grants = fromGrants(sql, accountId);
  const rows = await sql<{ first: string | null; before: number | null; behind: number | null }[]>`
    SELECT (SELECT min(at)::date ${grants})::text AS first,
      (SELECT id ${grants} AND at < ${days?.from ?? null}::date ORDER BY at DESC LIMIT 1) AS before,
      (SELECT id ${grants} AND at >= ${days?.to ?? null}::date + 1 ORDER BY at LIMIT 1) AS behind`;
  const { first, before, behind } = only(rows);
  return { first, ...(before !== null && { above: before - 1 }), ...(behind !== null && { below: behind }) };
}

/** The grants in a slice and a span. */
export async function loadGrants(
  sql: Sql,
  accountId: string,
  slice: Slice,
  span: Omit<GrantSpan, 'first'> = {},
): Promise<Grant[]> {
  const above = Math.max(slice.above ?? 0, span.above ?? 0);
  const below = Math.min(slice.below ?? Number.MAX_SAFE_INTEGER, span.below ?? Number.MAX_SAFE_INTEGER);
  return sql<Grant[]>`
    SELECT id, at, credits, balance, note, reference ${fromGrants(sql, accountId)}
    ${inSlice(sql, sql`id`, { ...slice, above, below })}`;
}

/** A grant, or the credits that calls beyond the allowance spent between two grants, or since the last one. */
export interface CreditEntry extends Omit<Grant, 'at' | 'id'> {
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

/** The end of a grant's span: the time of the next one, with the balance before it; or now, with the present balance. */
interface Next {
  at: Date | null;
  balance: number;
}

/** The next grant, as {@link creditHistory} needs it. */
const nextIs = ({ at, balance, credits }: Grant): Next => ({ at, balance: balance - credits });

/** The next grant after this one, or the account as it stands. @param grant `undefined` means that there is no newer one */
export async function nextAfter(
  sql: Sql,
  { id, credits }: { id: string; credits: number },
  grant: Grant | undefined,
): Promise<Next> {
  const newer = grant && (await loadGrants(sql, id, { above: grant.id, order: 'ASC', rows: 1 }))[0];
  return newer === undefined ? { at: null, balance: credits } : nextIs(newer);
}

/**
 * Grants, and between them the credits that calls spent. The ledger has the balance after each grant; the credits that are
 * missing before the next one were spent. The amounts add up to the balance.
 *
 * @param grants in a row, the latest first; @param next what comes after the first of them
 * @returns the latest first
 */
export function creditHistory(grants: Grant[], next: Next): CreditEntry[] {
  const entries: CreditEntry[] = [];
  let following = next;
  for (const grant of grants) {
    const { id: _, at, ...rest } = grant;
    const { balance, at: until } = following;
    const credits = balance - grant.balance;
    if (credits !== 0)
      entries.push({ kind: 'spent', from: at, until, credits, balance, reference: null, note: '' });
    entries.push({ kind: 'grant', from: at, until: at, ...rest });
    following = nextIs(grant);
  }
  return entries;
}
