import type { Sql } from '../../src/platform/postgres/connect.ts';
import { storeActivity } from './activity.ts';
import { storeCallCounts, storeErrorCounts } from './counts.ts';

/** Keys that work at the same time, the most of Plus. */
const ACTIVE_KEYS = 10_000;
/** The most that the service lets an account or a user have. */
const MEMBERS = 100;
const SESSIONS = 50;
const SECRETS = 600;

/**
 * Gives an account so many rows of everything that its members and programs can make, or as many as the service lets it have:
 * keys, secrets, uses, events, grants, calls and error answers of 30 days, activity, members, sessions, invitations, mails.
 *
 * @returns the id of a key with many secrets, and of a member
 */
export async function growAccount(
  sql: Sql,
  accountId: string,
  rows: number,
): Promise<{ keyId: string; memberId: string }> {
  const id = (n: string) => sql`${accountId} || '-' || ${sql.unsafe(n)}`;
  const hash = (n: string) => sql`sha256(convert_to(${id(n)}, 'UTF8'))`;
  const active = Math.min(rows / 2, ACTIVE_KEYS);
  await sql`
    INSERT INTO api_keys (id, account_id, name, start, secret_sha256, created_at, revoked_at, expires_at)
    SELECT ${id('n')}, ${accountId}, repeat('n', 190) || n, 'svc_grown0', ${hash('n')}, now() - interval '61 days' + n * interval '1 ms',
      CASE WHEN n > ${active} THEN now() - (n % 60) * interval '1 day' END,
      CASE WHEN n % 3 = 0 THEN now() + interval '6 days' END
    FROM generate_series(1, ${rows}::integer) AS n`;
  await sql`
    INSERT INTO api_key_previous_secrets (secret_sha256, key_id, until)
    SELECT ${hash("'s' || n")}, CASE WHEN n <= ${SECRETS} THEN ${id('1')} ELSE ${id('n')} END, now() + interval '1 day'
    FROM generate_series(1, ${Math.max(rows, SECRETS)}::integer) AS n`;
  await sql`
    INSERT INTO api_key_uses (secret_sha256, used_at) SELECT ${hash('n')}, now() FROM generate_series(1, ${rows}::integer) AS n`;
  await sql`
    INSERT INTO account_events (account_id, kind, actor, detail)
    SELECT ${accountId}, 'key-rotated', 'dashboard:x', jsonb_build_object('key', ${id('n')})
    FROM generate_series(1, ${rows}::integer) AS n`;
  await sql`
    INSERT INTO account_events (account_id, kind, actor, credits, balance, note)
    SELECT ${accountId}, 'credits', 'test', 2, n, 'one spent since the last' FROM generate_series(1, ${rows}::integer) AS n`;
  const days = 30;
  const counted = sql`
    (now() AT TIME ZONE 'UTC')::date - (n % ${days}::integer) AS day, ${id('(1 + n / 30)')} AS key`;
  const counts = (kind: string) => sql`
    SELECT ${accountId}::text, day, key, ${kind}::text, 3
    FROM (SELECT ${counted} FROM generate_series(1, ${rows}::integer) AS n) AS c`;
  await storeCallCounts(sql, counts('search'));
  await storeErrorCounts(sql, counts('401'));
  const part = { accountId, endpoint: 'GET /companies/{nif}', key: id('(1 + n / 15)'), rows: rows / 2 };
  await storeActivity(sql, part);
  await storeActivity(sql, { ...part, kind: 'answer', credits: 0, problem: 'rate-limit-exceeded' });
  await sql`
    WITH users AS (
      INSERT INTO dashboard_users ("id", "name", "email", "emailVerified")
      SELECT ${id("'u' || n")}, repeat('n', 190) || n, 'u' || n || '@' || replace(${accountId}, '_', '') || '.example.com', true
      FROM generate_series(2, ${MEMBERS}::integer) AS n RETURNING "id")
    INSERT INTO dashboard_members (user_id, account_id) SELECT "id", ${accountId} FROM users`;
  await sql`
    INSERT INTO dashboard_sessions ("id", "expiresAt", "token", "updatedAt", "userId")
    SELECT user_id || '-' || n, now() + interval '1 day', user_id || '-' || n, now(), user_id
    FROM dashboard_members, generate_series(2, ${SESSIONS}::integer) AS n WHERE account_id = ${accountId}`;
  await sql`
    INSERT INTO dashboard_invitations (token_sha256, account_id, email, role, actor, expires_at, used_at)
    SELECT ${hash("'i' || n")}, ${accountId}, 'i' || n || '@example.com', 'member', 'test', now() + interval '1 day', now()
    FROM generate_series(1, ${rows}::integer) AS n`;
  await sql`
    INSERT INTO dashboard_sent_mails (user_id, topic, occasion)
    SELECT user_id, ${id('n')}, 'week' FROM dashboard_members m, generate_series(1, ${Math.ceil(rows / MEMBERS)}::integer) AS n
    WHERE m.account_id = ${accountId}`;
  await sql`UPDATE balances SET credits = ${rows} WHERE account_id = ${accountId}`;
  return { keyId: `${accountId}-1`, memberId: `${accountId}-u2` };
}
