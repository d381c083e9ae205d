import { randomBytes } from 'node:crypto';
import { RefusedError } from '../../platform/errors.ts';
import { only } from '../../platform/postgres/answer.ts';
import type { RowsQuery } from '../../platform/postgres/batches.ts';
import type { Sql, Transaction } from '../../platform/postgres/connect.ts';
import { type Actor, recordEvent } from './events.ts';
import {
  checkSubscription,
  clock,
  iso,
  type Period,
  type Plan,
  type PlanQuotas,
  type Subscription,
} from './plan.ts';

export interface AccountDetails extends PlanQuotas {
  id: string;
  name: string;
  /** The effective plan: a lapsed Plus subscription is free. */
  plan: Plan;
  /** Purchased credits left. */
  credits: number;
  suspended: boolean;
  period: Period;
  /** The end of a Plus subscription; `null` if it doesn't lapse, or there is none. */
  planUntil: Date | null;
  /** Credits consumed in the period, purchased ones included. */
  used: number;
  /** Purchased credits among `used`. */
  usedPurchased: number;
  /** Keys that are neither revoked nor expired, without test keys and connections. */
  keys: number;
  /** Whether purchased credits pay for calls beyond the allowance. Otherwise these are refused. */
  spendPurchased: boolean;
}

/**
 * Credits that an account can still spend: the rest of its allowance, and purchased ones if it spends them (specification, Get
 * usage, Derived values). The keys of a suspended account are refused, so it can spend none. Every place that says what is left asks here.
 */
export function creditsLeft(account: AccountDetails): number {
  if (account.suspended) return 0;
  const { includedCredits, used, credits, spendPurchased } = account;
  return Math.max(0, includedCredits - used) + (spendPurchased ? credits : 0);
}

/** Whether an account has purchased credits that it is set not to spend. */
export function keepsPurchased(account: Pick<AccountDetails, 'credits' | 'spendPurchased'>): boolean {
  return account.credits > 0 && !account.spendPurchased;
}

/** A random id such as `acc_k3v9q0d2m8x1r7ta`: it never begins with `-`, and is safe in URLs and shells. */
export function newId(prefix: 'acc' | 'key'): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  let id = `${prefix}_`;
  for (const byte of randomBytes(16)) id += alphabet[byte & 31];
  return id;
}

type NewAccount = { name: string; plan: Plan } & Subscription;

/** @throws RefusedError for a period that begins in the future or a subscription that ends before it begins */
export async function createAccount(sql: Sql, account: NewAccount, actor: Actor) {
  return sql.begin((sql) => createAccountIn(sql, account, actor));
}

/** {@link createAccount} within the caller's transaction. */
export async function createAccountIn(sql: Transaction, account: NewAccount, actor: Actor) {
  const id = newId('acc');
  const now = await clock(sql);
  const { plan, name } = account;
  const { anchor, until } = checkSubscription(plan, account, now);
  await sql`INSERT INTO accounts (id, name) VALUES (${id}, ${name})`;
  const counters = await sql<{ plan: Plan }[]>`
    INSERT INTO counters (id, plan, plus_anchor, plus_until, period_plan, period_start, period_end)
    SELECT ${id}, ${plan}, ${anchor}, ${until}, (p).plan, (p).starts_at, (p).ends_at
    FROM account_period(${plan}, NULL, ${anchor}, ${until}, ${now}) AS p RETURNING period_plan AS plan`;
  const detail = { plan, periodStart: iso(anchor), until: iso(until) };
  await recordEvent(sql, id, { kind: 'created', actor, detail });
  return { id, name, plan: only(counters).plan };
}

/** Conditions of {@link listAccounts}; an account must meet both. */
export interface AccountFilter {
  /** The email of a member, in any case. */
  email?: string | undefined;
  /** The account has used at least this share of its allowance, in percent. */
  above?: number | undefined;
}

/** An account with the emails of its members. */
export type ListedAccount = Pick<AccountDetails, 'id' | 'name' | 'plan' | 'credits' | 'suspended'> & {
  emails: string[];
};

/** Accounts that {@link listAccounts} returns at most. */
const ACCOUNTS_AT_A_TIME = 1000;

/** Accounts with the emails of their members, oldest first. @param last only accounts that were created after it */
export async function listAccounts(sql: Sql, { email, above }: AccountFilter = {}, last?: ListedAccount) {
  const address = email?.toLowerCase() ?? null;
  const behind = sql`
    (${last?.id ?? null}::text IS NULL OR (a.created_at, a.id) > (SELECT created_at, id FROM accounts WHERE id = ${last?.id ?? null}))`;
  return sql<ListedAccount[]>`
    SELECT a.id, a.name, a.plan, a.credits, a.suspended, emails
    FROM (${accountRows(sql, behind)}) a CROSS JOIN LATERAL (SELECT ${emails(sql, sql`a.id`)} AS emails) m
    WHERE (${address}::text IS NULL OR ${address} = ANY (emails))
      AND (${above ?? null}::bigint IS NULL OR a.used * 100 >= a."includedCredits" * ${above ?? null}::bigint)
    ORDER BY a.created_at, a.id LIMIT ${ACCOUNTS_AT_A_TIME}`;
}

/** Emails that sign in to the account, in alphabetical order. */
export async function emailsOf(sql: Sql, id: string): Promise<string[]> {
  const rows = await sql<{ emails: string[] }[]>`SELECT ${emails(sql, sql`${id}`)} AS emails`;
  return only(rows).emails;
}

const emails = (sql: Sql, account: RowsQuery) => sql`
  ARRAY (SELECT "email" FROM account_members WHERE account_id = ${account} ORDER BY "email")`;

interface AccountRow extends Omit<AccountDetails, 'period'> {
  start: Date;
  end: Date;
  created_at: Date;
}

/** Several accounts in no order, as a query for callers that bound its wait. */
export function findAccountsQuery(sql: Sql | Transaction, ids: string[]) {
  return sql<AccountRow[]>`${accountRows(sql, sql`a.id = ANY (${ids}::text[])`)}`;
}

/** SQL for the accounts that meet the condition, as they stand now by Postgres's clock, without deleted ones. */
function accountRows(sql: Sql | Transaction, condition: RowsQuery) {
  return sql`
    SELECT a.id, a.name, c.period_plan AS plan, c.credits, a.suspended_at IS NOT NULL AS suspended, a.created_at,
      CASE WHEN c.period_plan = 'plus' THEN c.plus_until END AS "planUntil",
      c.period_start AS start, c.period_end AS end, c.used, c.used_purchased AS "usedPurchased",
      (SELECT count(*) FROM api_keys k WHERE k.account_id = a.id AND k.ends_at > now() AND NOT k.is_test AND NOT k.is_connection) AS keys,
      plans.api_keys AS "keyLimit",
      coalesce(a.requests_per_minute, plans.requests_per_minute) AS "requestsPerMinute",
      coalesce(c.included_credits, plans.included_credits) AS "includedCredits",
      c.spend_purchased AS "spendPurchased"
    FROM accounts a JOIN counters ON counters.id = a.id
      CROSS JOIN LATERAL counter_at(counters, now()) AS c
      JOIN plans ON plans.name = c.period_plan
    WHERE ${condition} AND a.deleted_at IS NULL`;
}

export function detailsOf({ start, end, created_at: _, ...account }: AccountRow): AccountDetails {
  return { ...account, period: { start, end } };
}

/** An account as it stands now by Postgres's clock. @throws RefusedError when there is none */
export async function requireAccount(sql: Sql | Transaction, id: string): Promise<AccountDetails> {
  const [row] = await findAccountsQuery(sql, [id]);
  if (row === undefined) throw unknownAccount(id);
  return detailsOf(row);
}

/** Takes the account's row locks, so that concurrent changes queue up. @throws RefusedError when there is none */
export async function lockAccount(sql: Transaction, id: string): Promise<void> {
  const rows = await sql`
    SELECT 1 FROM accounts JOIN counters USING (id) WHERE id = ${id} AND deleted_at IS NULL FOR UPDATE`;
  if (rows.length === 0) throw unknownAccount(id);
}

export function unknownAccount(id: string): RefusedError {
  return new RefusedError(`there is no account ${JSON.stringify(id)}: see \`account list\``);
}
