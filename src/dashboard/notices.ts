import type { Sql } from '../platform/postgres/connect.ts';
import { keyName } from './keys/key-parts.ts';
import type { MemberContext } from './page-context.ts';
import { type Html, type HtmlValue, html } from './ui/html.ts';
import { contactLink, endOf, moment, sentence } from './ui/parts.ts';
import { allowanceNotice } from './usage/allowance.ts';

/** The most keys with a line on each page. */
const MAX_KEYS = 5;

/** The notices above every page of a member: a suspended account, low credits, and keys that end soon or that programs use in vain. */
export async function pageNotices(context: MemberContext): Promise<HtmlValue> {
  if (context.account.suspended) return suspendedNotice(context);
  return [await allowanceNotice(context), await keysNotice(context)];
}

async function suspendedNotice(context: MemberContext): Promise<Html> {
  const { messages, tools, account, formats } = context;
  const [row] = await tools.sql<{ at: Date; note: string; refused: number }[]>`
    SELECT at, note, (SELECT coalesce(sum(calls), 0)::bigint FROM daily_error_answers
      WHERE account_id = ${account.id} AND ${isRefusal(tools.sql)}) AS refused FROM account_events
    WHERE account_id = ${account.id} AND kind = 'suspended' ORDER BY id DESC LIMIT 1`;
  const since = row && sentence(messages.suspendedSince, moment(formats, row.at));
  const refused = row !== undefined && row.refused > 0 && messages.refusedCalls(formats.number(row.refused));
  return html`<p class="notice bad" role="status"><span>${messages.suspended} ${since} ${row?.note && messages.suspendedReason(row.note)} ${refused} ${contactLink(context)}</span></p>`;
}

interface EndingKey {
  id: string;
  name: string;
  endsAt: Date;
  isRevoked: boolean;
  hasEnded: boolean;
  refused: number;
}

/** Keys that end within 7 days, and those that have ended but are still used. */
async function keysNotice(context: MemberContext): Promise<HtmlValue> {
  const { messages, tools, account, formats } = context;
  const { sql } = tools;
  // Each part begins with few rows: keys that end soon, and refusals of two days. An account can have very many keys that ended.
  const keys = await sql<EndingKey[]>`
    WITH soon AS (
      SELECT id FROM api_keys
      WHERE account_id = ${account.id} AND ends_at > now() AND ends_at <= now() + interval '7 days'
      ORDER BY ends_at DESC LIMIT ${MAX_KEYS}
    ), used AS (
      SELECT key_id AS id, sum(calls)::bigint AS refused FROM daily_error_answers
      WHERE account_id = ${account.id} AND ${isRefusal(sql)} GROUP BY key_id
    )
    SELECT k.id, k.name, k.ends_at AS "endsAt", k.revoked_at IS NOT NULL AS "isRevoked", k.ends_at <= now() AS "hasEnded",
      coalesce(refused, 0) AS refused
    FROM (SELECT id FROM soon UNION SELECT id FROM used) AS found JOIN api_keys k USING (id) LEFT JOIN used USING (id)
    WHERE k.account_id = ${account.id} AND k.ends_at BETWEEN now() - interval '30 days' AND now() + interval '7 days'
    ORDER BY k.ends_at DESC LIMIT ${MAX_KEYS}`;
  return keys.map((key) => {
    const { id, hasEnded, isRevoked, refused } = key;
    const text = hasEnded ? (isRevoked ? messages.keyRevoked : messages.keyExpired) : messages.keyEndsSoon;
    const end = isRevoked ? moment(formats, key.endsAt) : endOf(formats, key.endsAt);
    const lead = sentence((value) => text(keyName(key, messages), value), end);
    return html`
<div class="notice ${hasEnded ? 'bad' : 'warn'}" role="status" data-key="${id}">
  <p>${lead} ${refused > 0 && messages.refusedCalls(formats.number(refused))}</p>
  <p><a href="${tools.base}/keys/${id}">${messages.openKey}</a></p>
</div>`;
  });
}

/** SQL: a row of error answers counts calls that were refused with 401 today or yesterday (UTC). */
const isRefusal = (sql: Sql) => sql`kind = '401' AND day >= (now() AT TIME ZONE 'UTC')::date - 1`;
