import type { Sql } from '../platform/postgres/connect.ts';
import { keyName } from './keys/key-parts.ts';
import type { MemberContext } from './page-context.ts';
import type { Notice } from './request/context.ts';
import { html } from './ui/html.ts';
import { contactLink, endOf, moment, sentence } from './ui/parts.ts';
import { allowanceNotice } from './usage/allowance.ts';

/** The most keys with a line on each page. */
const MAX_KEYS = 5;

/** The notices above every page of a member: a suspended account, low credits, and keys that end soon or that programs use in vain. */
export async function pageNotices(context: MemberContext): Promise<Notice[]> {
  if (context.account.suspended) return [await suspendedNotice(context)];
  return [...(await allowanceNotice(context)), ...(await keyNotices(context))];
}

async function suspendedNotice(context: MemberContext): Promise<Notice> {
  const { messages, tools, account, formats } = context;
  const [row] = await tools.sql<{ at: Date; note: string; refused: number }[]>`
    SELECT at, note, ${refusedSince(tools.sql, account.id)} AS refused FROM account_events
    WHERE account_id = ${account.id} AND kind = 'suspended' ORDER BY id DESC LIMIT 1`;
  const since = row && sentence(messages.suspendedSince, moment(formats, row.at));
  const refused = row !== undefined && row.refused > 0 && messages.refusedCalls(formats.number(row.refused));
  const content = html`<p class="notice bad" role="status"><span>${messages.suspended} ${since} ${row?.note && messages.suspendedReason(row.note)} ${refused} ${contactLink(context)}</span></p>`;
  return { look: 'bad', lead: messages.suspended, content };
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
async function keyNotices(context: MemberContext): Promise<Notice[]> {
  const { messages, tools, account, formats } = context;
  const { sql } = tools;
  const keys = await sql<EndingKey[]>`
    SELECT * FROM (
      SELECT id, name, ends_at AS "endsAt", revoked_at IS NOT NULL AS "isRevoked", ends_at <= now() AS "hasEnded",
        ${refusedSince(sql, account.id, sql`api_keys.id`)} AS refused
      FROM api_keys
      WHERE account_id = ${account.id} AND ends_at BETWEEN now() - interval '30 days' AND now() + interval '7 days'
    ) AS ending
    WHERE NOT "hasEnded" OR refused > 0 ORDER BY "endsAt" DESC LIMIT ${MAX_KEYS}`;
  return keys.map((key) => {
    const { id, hasEnded, isRevoked, refused } = key;
    const text = hasEnded ? (isRevoked ? messages.keyRevoked : messages.keyExpired) : messages.keyEndsSoon;
    const end = isRevoked ? moment(formats, key.endsAt) : endOf(formats, key.endsAt);
    const lead = sentence((value) => text(keyName(key, messages), value), end);
    const look = hasEnded ? 'bad' : 'warn';
    const content = html`
<div class="notice ${look}" role="status" data-key="${id}">
  <p>${lead} ${refused > 0 && messages.refusedCalls(formats.number(refused))}</p>
  <p><a href="${tools.base}/keys/${id}">${messages.openKey}</a></p>
</div>`;
    return { look, lead, content };
  });
}

/** SQL for the calls that were refused with 401 today or yesterday (UTC). @param keyId absent: with any key */
function refusedSince(sql: Sql, accountId: string, keyId = sql`key_id`) {
  return sql`
    (SELECT coalesce(sum(calls), 0)::bigint FROM daily_error_answers
    WHERE account_id = ${accountId} AND key_id = ${keyId} AND kind = '401'
      AND day >= (now() AT TIME ZONE 'UTC')::date - 1)`;
}
