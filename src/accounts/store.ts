import { RefusedError } from '../errors.ts';
import { textArray } from '../postgres/arrays.ts';
import { SENT_AT_ONCE, type Sql, type Transaction } from '../postgres/connect.ts';
import { newId } from './ids.ts';

export type Plan = 'free' | 'plus';

/** When a Plus subscription began (its periods are counted from there) and when it lapses. */
export interface Subscription {
  /** Absent: now. Not in the future. */
  periodStart?: Date | undefined;
  /** Absent: it doesn't lapse. */
  until?: Date | undefined;
}

export interface Period {
  start: Date;
  /** Exclusive. */
  end: Date;
}

export interface AccountSummary {
  id: string;
  name: string;
  /** The effective plan: a lapsed Plus subscription is free. */
  plan: Plan;
  /** Purchased credits left. */
  credits: number;
  suspended: boolean;
}

export interface AccountDetails extends AccountSummary {
  period: Period;
  /** Credits consumed in the period, purchased ones included. */
  used: number;
  /** Keys that are not revoked. */
  keys: number;
  /** Key quota of the plan; null: unlimited. */
  keyLimit: number | null;
  requestsPerMinute: number;
  includedCredits: number;
}

export interface Limits {
  requestsPerMinute: number;
  includedCredits: number;
}

/** For each: a number of the account's own, `null` for the plan's, absent for as it is. */
export interface LimitChange {
  requestsPerMinute?: number | null | undefined;
  includedCredits?: number | null | undefined;
}

/** Who does it: kept in the ledger with every change, e.g. `cli:maria`. */
export type Actor = string;

/** The ledger's row of something that changed an account. */
export interface AccountEvent {
  kind: 'created' | 'plan' | 'limits' | 'credits' | 'suspended' | 'resumed' | 'key-created' | 'key-revoked';
  actor: Actor;
  credits?: number;
  balance?: number;
  note?: string;
  reference?: string | undefined;
  detail?: Record<string, string | number | boolean | null>;
}

/** Postgres channel on which instances hear that an account or its keys changed; the payload is the account's id. */
export const ACCOUNT_CHANGED = 'account_changed';

/**
 * Writes a ledger row and, with the commit, tells every instance that the account changed.
 * @returns `false` when the account already has a row with this reference
 */
export async function recordEvent(
  sql: Transaction,
  accountId: string,
  event: AccountEvent,
): Promise<boolean> {
  const rows = await sql`
    INSERT INTO account_events (account_id, kind, actor, credits, balance, note, reference, detail)
    VALUES (${accountId}, ${event.kind}, ${event.actor}, ${event.credits ?? null}, ${event.balance ?? null},
      ${event.note ?? ''}, ${event.reference ?? null}, ${sql.json(event.detail ?? {})})
    ON CONFLICT (account_id, reference) WHERE reference IS NOT NULL DO NOTHING
    RETURNING id`;
  await sql`SELECT pg_notify(${ACCOUNT_CHANGED}, ${accountId})`;
  return rows.length === 1;
}

/** @throws RefusedError for a period that begins in the future or a subscription that ends before it begins */
export async function createAccount(
  sql: Sql,
  account: { name: string; plan: Plan } & Subscription,
  actor: Actor,
): Promise<{ id: string; name: string; plan: Plan }> {
  return sql.begin((sql) => createAccountIn(sql, account, actor));
}

/** {@link createAccount} within a transaction of the caller's. */
export async function createAccountIn(
  sql: Transaction,
  account: { name: string; plan: Plan } & Subscription,
  actor: Actor,
): Promise<{ id: string; name: string; plan: Plan }> {
  const id = newId('acc');
  const now = await clock(sql);
  const { anchor, until } = checkSubscription(account, now);
  const plus = account.plan === 'plus';
  await sql`INSERT INTO accounts (id, name) VALUES (${id}, ${account.name})`;
  await sql`
    INSERT INTO balances (account_id, plan, plus_anchor, plus_until, period_plan, period_start, period_end)
    SELECT ${id}, ${account.plan}, ${plus ? anchor : null}, ${plus ? until : null},
      (p).plan, (p).starts_at, (p).ends_at
    FROM account_period(${account.plan}, NULL, ${plus ? anchor : null}, ${plus ? until : null}, ${now}) AS p`;
  const detail = {
    plan: account.plan,
    periodStart: iso(plus ? anchor : null),
    until: iso(plus ? until : null),
  };
  await recordEvent(sql, id, { kind: 'created', actor, detail });
  return { id, name: account.name, plan: await effectivePlan(sql, id) };
}

/** All accounts, oldest first. */
export async function listAccounts(sql: Sql): Promise<AccountSummary[]> {
  return sql<AccountSummary[]>`
    SELECT id, name, (${currentPeriod(sql)}).plan, credits, suspended_at IS NOT NULL AS suspended
    FROM accounts JOIN balances b ON b.account_id = id ORDER BY created_at, id`;
}

/**
 * An account as it stands at `instant` (default: now, by Postgres's clock).
 * @returns null when there is none
 */
export async function findAccount(
  sql: Sql | Transaction,
  id: string,
  instant?: Date,
): Promise<AccountDetails | null> {
  const [row] = await findAccountsQuery(sql, [id], instant);
  return row === undefined ? null : detailsOf(row);
}

interface AccountRow extends Omit<AccountDetails, 'period'> {
  start: Date;
  end: Date;
}

/** {@link findAccount} as a query, of several accounts in no order, for callers that bound its wait. */
export function findAccountsQuery(sql: Sql | Transaction, ids: string[], instant: Date | null = null) {
  return sql<AccountRow[]>`
    SELECT a.id, a.name, (a.period).plan, a.credits, a.suspended_at IS NOT NULL AS suspended,
      (a.period).starts_at AS start, (a.period).ends_at AS end,
      CASE WHEN a.instant < a.period_end THEN a.used ELSE 0 END AS used,
      (SELECT count(*) FROM api_keys k WHERE k.account_id = a.id AND k.revoked_at IS NULL) AS keys,
      plans.api_keys AS "keyLimit",
      coalesce(a.requests_per_minute, plans.requests_per_minute) AS "requestsPerMinute",
      coalesce(a.included_credits, plans.included_credits) AS "includedCredits"
    FROM (
      SELECT *, ${currentPeriod(sql, instant)} AS period, coalesce(${instant}::timestamptz, now()) AS instant
      FROM accounts JOIN balances b ON b.account_id = id
      WHERE id = ANY (${textArray(ids)}::text[]) AND ${SENT_AT_ONCE}::text IS NOT NULL
    ) a JOIN plans ON plans.name = (a.period).plan`;
}

export function detailsOf({ start, end, ...account }: AccountRow): AccountDetails {
  return { ...account, period: { start, end } };
}

/** What a plan gives to an account that has no limits of its own. */
export async function readPlan(
  sql: Sql,
  plan: Plan,
): Promise<Pick<AccountDetails, 'includedCredits' | 'keyLimit'>> {
  const [row] = await sql<Pick<AccountDetails, 'includedCredits' | 'keyLimit'>[]>`
    SELECT included_credits AS "includedCredits", api_keys AS "keyLimit" FROM plans WHERE name = ${plan}`;
  return row!;
}

/** @throws RefusedError when there is none */
export async function requireAccount(sql: Sql | Transaction, id: string): Promise<AccountDetails> {
  const account = await findAccount(sql, id);
  if (account === null) throw unknownAccount(id);
  return account;
}

/**
 * Moves the account to a plan. A change opens a new period now with nothing used; a Plus subscription is counted
 * from `periodStart`. Free to Free is no change.
 */
export async function changePlan(
  sql: Sql,
  id: string,
  plan: Plan,
  subscription: Subscription,
  actor: Actor,
): Promise<AccountDetails> {
  return sql.begin(async (sql) => {
    await lockAccount(sql, id);
    const now = await clock(sql);
    const { anchor, until } = checkSubscription(subscription, now);
    if (plan === 'plus') {
      await sql`
        UPDATE balances SET plan = 'plus', plan_since = ${now}, plus_anchor = ${anchor}, plus_until = ${until}
        WHERE account_id = ${id}`;
    } else {
      if ((await effectivePlan(sql, id)) === 'free') return requireAccount(sql, id);
      await sql`
        UPDATE balances SET plan = 'free', plan_since = ${now}, plus_anchor = NULL, plus_until = NULL
        WHERE account_id = ${id}`;
    }
    await sql`
      UPDATE balances SET used = 0, used_purchased = 0,
        period_plan = (p).plan, period_start = (p).starts_at, period_end = (p).ends_at,
        period_opened_at = clock_timestamp()
      FROM (SELECT account_period(plan, plan_since, plus_anchor, plus_until, ${now}) AS p
            FROM balances WHERE account_id = ${id}) AS opened
      WHERE account_id = ${id}`;
    const plus = plan === 'plus';
    const detail = { plan, periodStart: iso(plus ? anchor : null), until: iso(plus ? until : null) };
    await recordEvent(sql, id, { kind: 'plan', actor, detail });
    return requireAccount(sql, id);
  });
}

/** Gives an account limits of its own, or the plan's again. @throws RefusedError for an unknown account */
export async function changeLimits(sql: Sql, id: string, change: LimitChange, actor: Actor): Promise<Limits> {
  return sql.begin(async (sql) => {
    await lockAccount(sql, id);
    const { requestsPerMinute, includedCredits } = change;
    if (requestsPerMinute !== undefined) {
      await sql`UPDATE accounts SET requests_per_minute = ${requestsPerMinute} WHERE id = ${id}`;
    }
    if (includedCredits !== undefined) {
      await sql`UPDATE balances SET included_credits = ${includedCredits} WHERE account_id = ${id}`;
    }
    const account = await requireAccount(sql, id);
    const limits = { requestsPerMinute: account.requestsPerMinute, includedCredits: account.includedCredits };
    if (requestsPerMinute !== undefined || includedCredits !== undefined) {
      await recordEvent(sql, id, { kind: 'limits', actor, detail: limits });
    }
    return limits;
  });
}

/** Suspends or resumes an account: a suspended account's keys are answered 401. Repeating it changes nothing. */
export async function setSuspended(sql: Sql, id: string, suspended: boolean, actor: Actor): Promise<void> {
  await sql.begin(async (sql) => {
    await lockAccount(sql, id);
    const changed = suspended
      ? await sql`UPDATE accounts SET suspended_at = now() WHERE id = ${id} AND suspended_at IS NULL RETURNING 1`
      : await sql`UPDATE accounts SET suspended_at = NULL WHERE id = ${id} AND suspended_at IS NOT NULL RETURNING 1`;
    if (changed.length > 0) await recordEvent(sql, id, { kind: suspended ? 'suspended' : 'resumed', actor });
  });
}

/** Takes the account's row locks, so that concurrent changes queue up. @throws RefusedError when there is none */
export async function lockAccount(sql: Transaction, id: string): Promise<void> {
  const rows = await sql`SELECT 1 FROM accounts JOIN balances ON account_id = id WHERE id = ${id} FOR UPDATE`;
  if (rows.length === 0) throw unknownAccount(id);
}

function unknownAccount(id: string): RefusedError {
  return new RefusedError(`there is no account ${JSON.stringify(id)}: see \`account list\``);
}

/** SQL: the period of the balances row `b` at the instant (null: now), rolled over if the stored one has ended. */
function currentPeriod(sql: Sql | Transaction, instant: Date | null = null) {
  const at = sql`coalesce(${instant}::timestamptz, now())`;
  return sql`CASE WHEN ${at} < b.period_end
    THEN ROW(b.period_plan, b.period_start, b.period_end)::quota_period
    ELSE account_period(b.plan, b.plan_since, b.plus_anchor, b.plus_until, ${at}) END`;
}

async function effectivePlan(sql: Transaction, id: string): Promise<Plan> {
  const [row] = await sql<
    { plan: Plan }[]
  >`SELECT (${currentPeriod(sql)}).plan FROM balances b WHERE account_id = ${id}`;
  return row!.plan;
}

async function clock(sql: Transaction): Promise<Date> {
  const [row] = await sql<{ now: Date }[]>`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`;
  return row!.now;
}

function checkSubscription(
  { periodStart, until }: Subscription,
  now: Date,
): { anchor: Date; until: Date | null } {
  const anchor = periodStart ?? now;
  if (anchor > now) throw new RefusedError(`--period-start ${iso(anchor)} is in the future`);
  if (until !== undefined && until <= anchor)
    throw new RefusedError('--until must be later than --period-start');
  return { anchor, until: until ?? null };
}

function iso(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}
