import { readPlan } from '../metering/accounts/plan.ts';
import type { Sql } from '../platform/postgres/connect.ts';
import { DAY, SECOND } from '../platform/units.ts';
import { suspensionText } from './account/suspension-text.ts';
import type { MemberContext, Notice } from './context.ts';
import { keyName } from './keys/key-parts.ts';
import { buyLink, endOf, html, sentence, withContact } from './ui/html.ts';
import { filled } from './ui/states.ts';
import { allowanceNotice } from './usage/allowance.ts';

/** The most ended keys with a line on each page. */
const MAX_KEYS = 5;
/** The most refused keys among which they are sought. */
const MAX_REFUSED_KEYS = 500;
/** The most keys that end soon and are counted. */
const MAX_SOON = 100;

/** The time for which pages say that Plus has ended, and before it ends. */
const LAPSED_FOR_MS = 30 * DAY;
const LAPSES_SOON_MS = 7 * DAY;

/**
 * The notices above every page of a member: a suspended account, a plan that ends or has ended, low credits, and keys that end soon or
 * that programs use in vain. A page with the answer to a call is shown without them if Postgres is away by now, because the call was
 * paid.
 */
export async function pageNotices(context: MemberContext): Promise<Notice[]> {
  try {
    if (context.account.suspended) return [await suspendedNotice(context)];
    const all = [planNotices(context), allowanceNotice(context), keyNotices(context)];
    return (await Promise.all(all)).flat();
  } catch (error) {
    if (context.trace.keyId === undefined) throw error;
    context.tools.log.error({ err: error }, 'the notices of a page could not be read');
    return [];
  }
}

async function suspendedNotice(context: MemberContext): Promise<Notice> {
  const { messages, tools, account, formats } = context;
  const [row] = await tools.sql<
    { refused: number }[]
  >`SELECT coalesce(sum(calls), 0)::bigint AS refused FROM account_counts
    WHERE account_id = ${account.id} AND ${isRefusal(tools.sql)}`;
  const { refused } = row!;
  const lead = await suspensionText(context, account.id);
  const more = refused > 0 && messages.refusedRequests(formats.number(refused));
  return { look: 'bad', about: 'suspension', lead, more };
}

/** The end of Plus, within 7 days before it and 30 days after it. */
async function planNotices(context: MemberContext): Promise<Notice[]> {
  const { messages, formats, tools, account } = context;
  const { planUntil, plan } = account;
  const link = buyLink(context) ?? html`<a href="${tools.base}/credits">${messages.creditsTitle}</a>`;
  const remedy = withContact(context, link);
  const notices = (lead: string): Notice[] => [{ look: 'warn', about: 'plan', lead, remedy }];
  if (planUntil !== null && planUntil.getTime() < Date.now() + LAPSES_SOON_MS) {
    const free = await readPlan(tools.sql, 'free');
    const after = [formats.number(free.includedCredits), formats.number(free.keyLimit)] as const;
    return notices(filled(messages.states.lapsesSoon, [formats.end(planUntil)], [], [...after]));
  }
  if (plan !== 'free') return [];
  const [lapsed] = await tools.sql<{ at: Date }[]>`
    SELECT plus_until AS at FROM counters
    WHERE id = ${account.id} AND plus_until > now() - ${LAPSED_FOR_MS / SECOND} * interval '1 second'`;
  if (lapsed === undefined) return [];
  const { includedCredits, requestsPerMinute, keyLimit } = account;
  const [calls, rate, keys] = [includedCredits, requestsPerMinute, keyLimit].map(formats.number);
  return notices(filled(messages.states.lapsed, [formats.end(lapsed.at)], [], [calls!, rate!, keys!]));
}

interface EndingKey {
  id: string;
  name: string;
  endsAt: Date;
  hasEnded: boolean;
  refused: number;
}

/**
 * Keys that end within 7 days and are in use, as one notice, and those that have expired but are still used. A revoked key has none,
 * because somebody here has ended it.
 * An account can have very many keys that end soon, have ended, or are refused. So each part is bounded.
 */
async function keyNotices(context: MemberContext): Promise<Notice[]> {
  const { messages, formats, tools } = context;
  const { sql } = tools;
  const keys = await sql<EndingKey[]>`
    WITH soon AS (
      SELECT id FROM api_keys
      WHERE account_id = ${context.account.id} AND ends_at > now() AND ends_at <= now() + interval '7 days'
        AND EXISTS (SELECT FROM api_key_uses u
          WHERE u.secret_sha256 = api_keys.secret_sha256 AND used_at > now() - interval '30 days')
      ORDER BY ends_at DESC LIMIT ${MAX_SOON}
    ), used AS (
      SELECT key_id AS id FROM key_counts
      WHERE account_id = ${context.account.id} AND ${isRefusal(sql)} ORDER BY day DESC LIMIT ${MAX_REFUSED_KEYS}
    )
    SELECT k.id, k.name, k.ends_at AS "endsAt", k.ends_at <= now() AS "hasEnded",
      (SELECT coalesce(sum(calls), 0)::bigint FROM key_counts
        WHERE account_id = ${context.account.id} AND key_id = k.id AND ${isRefusal(sql)}) AS refused
    FROM (SELECT id FROM soon UNION SELECT id FROM used) AS found JOIN api_keys k USING (id)
    WHERE k.account_id = ${context.account.id} AND k.revoked_at IS NULL AND k.ends_at BETWEEN now() - interval '30 days' AND now() + interval '7 days'
    ORDER BY k.ends_at DESC`;
  const { ended = [], soon = [] } = Object.groupBy(keys, ({ hasEnded }) => (hasEnded ? 'ended' : 'soon'));
  const some = [...(soon.length === 1 ? soon : []), ...ended.slice(0, MAX_KEYS)];
  const notices = some.map((key) => keyNotice(context, key));
  if (soon.length <= 1) return notices;
  // Several that end soon have one notice.
  const lead = messages.keysEndSoon(formats.number(soon.length));
  const remedy = html`<a href="${tools.base}/keys?state=ending">${messages.openKeys}</a>`;
  return [{ look: 'warn', about: 'keys', lead, remedy }, ...notices];
}

function keyNotice({ messages, tools, formats }: MemberContext, key: EndingKey): Notice {
  const { id, refused, endsAt, hasEnded } = key;
  const state = messages.states[hasEnded ? 'keyEnded' : 'keyEndsSoon'];
  return {
    look: hasEnded ? 'bad' : 'warn',
    about: id,
    lead: sentence((end) => filled(state, [keyName(key, messages), end]), endOf(formats, endsAt)),
    more: hasEnded && refused > 0 && messages.refusedRequests(formats.number(refused)),
    remedy: html`<a href="${tools.base}/keys/${id}">${messages.openKey}</a>`,
  };
}

/** SQL: a row of error answers counts calls that were refused with 401 today or yesterday (UTC). */
const isRefusal = (sql: Sql) => sql`kind = '401' AND day >= (now() AT TIME ZONE 'UTC')::date - 1`;
