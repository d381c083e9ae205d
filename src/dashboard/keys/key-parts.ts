import { MCP_PATH } from '../../http/api-route.ts';
import { ERROR_KINDS } from '../../http/error-kind.ts';
import type { Right } from '../../http/right.ts';
import { findKey, type ListedKey } from '../../metering/keys/key-list.ts';
import type { ApiKey } from '../../metering/keys/key-store.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { memberForm } from '../auth/form-page.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import type { Messages } from '../messages.ts';
import { codeSamples, EXAMPLE_QUERY } from '../reference/code-samples.ts';
import { type Refusal, redirectTo } from '../request/forms.ts';
import { type FormPage, notFoundPage } from '../request/layout.ts';
import { copyable, endOf, type Html, type HtmlValue, html, moment } from '../ui/html.ts';

export function keyName(key: Pick<ApiKey, 'name'>, messages: Messages): string {
  return key.name === '' ? messages.unnamed : key.name;
}

const hasExpired = ({ revoked, expires }: ApiKey) =>
  revoked === null && expires !== null && expires <= new Date();

/** The state of a key, with its dates. */
export function keyBadges({ messages, formats }: MemberContext, key: ApiKey): Html {
  const { test, revoked, expires, previousUntil } = key;
  const testBadge = test && html`<span class="badge">${messages.testKey}</span>`;
  if (revoked !== null)
    return html`${testBadge} <span class="badge bad">${messages.revoked} ${moment(formats, revoked)}</span>`;
  if (key.connection)
    return html`<span class="badge">${hasExpired(key) ? messages.expired : messages.connection}</span>`;
  if (hasExpired(key))
    return html`${testBadge} <span class="badge bad">${messages.expired} ${endOf(formats, expires!)}</span>`;
  return html`
    ${testBadge}
    ${expires !== null && html`<span class="badge">${messages.validUntil} ${endOf(formats, expires)}</span>`}
    ${previousUntil !== null && html`<span class="badge">${messages.oldSecretUntil} ${endOf(formats, previousUntil)}</span>`}`;
}

/**
 * When any secret of the key was last used.
 * @param counts of the key. They are known at once, and a use some seconds later
 */
export function lastUse(
  { messages, formats }: MemberContext,
  key: Pick<ListedKey, 'lastUsed'>,
  counts: KeyCounts = NO_COUNTS,
): HtmlValue {
  if (key.lastUsed !== null) return moment(formats, key.lastUsed);
  return counts.credits > 0 ? messages.recently : messages.never;
}

/** Links to what can be done with a key. An expired one gets no new secret, and a revoked one nothing. */
export function changeLinks({ messages, tools }: MemberContext, key: ApiKey): Html[] {
  if (key.revoked !== null || (key.connection && hasExpired(key))) return [];
  const link = (path: string, label: string, look: string) =>
    html`<a class="button small ${look}" href="${tools.base}/keys/${key.id}/${path}" aria-label="${label}: ${keyName(key, messages)}">${label}</a> `;
  const change = link('change', messages.change, 'quiet');
  if (hasExpired(key)) return [change];
  const revoke = link('revoke', key.connection ? messages.connectionEnd : messages.revoke, 'quiet-bad');
  return key.connection ? [change, revoke] : [link('rotate', messages.rotate, 'quiet'), change, revoke];
}

/** A secret that is shown once. */
export interface NewSecret {
  /** Of its key. */
  id: string;
  /** The rights of the key; `null` means all. */
  only: Right[] | null;
  secret: string;
  /** The instant until which the replaced secret works; `null` if there is none. */
  previousUntil: Date | null;
}

/** The card with a new secret, and what to do with it. */
export function newSecretCard(context: MemberContext, { id, secret, previousUntil, only }: NewSecret): Html {
  const { messages, tools, formats } = context;
  // Every key may ask for itself.
  const canSearch = only === null || only.includes('search');
  const address = `${tools.publicUrl}/api/v1/${canSearch ? `companies?q=${EXAMPLE_QUERY}` : 'key'}`;
  return html`
<section class="card new-key" role="status" tabindex="-1" autofocus data-forget-form>
  <h2>${messages.newKey}</h2>
  <p>${messages.newKeyLead}</p>
  ${previousUntil !== null && html`<p>${previousUntil.getTime() > Date.now() ? messages.previousUntil(formats.instant(previousUntil)) : messages.previousEnded}</p>`}
  ${copyable(messages, { id: 'new-secret', label: messages.newKey, text: secret })}
  <p class="hint">${messages.lostSecret} <a href="${tools.base}/keys/${id}/rotate">${messages.rotate}</a></p>
  <p>${messages.newKeyTry}</p>
  ${copyable(messages, { id: 'new-export', label: messages.newKeyTry, text: `export API_KEY='${secret}'` })}
  ${codeSamples(messages, { id: 'new', method: 'GET', address })}
  ${connectAgent(context)}
</section>`;
}

function connectAgent({ messages, tools }: MemberContext): Html {
  const address = tools.publicUrl + MCP_PATH;
  const command = `claude mcp add --transport http company-directory ${address} \\\n  --header 'Authorization: Bearer svc_…'`;
  return html`
<details>
  <summary id="agent-title">${messages.connectAgent}</summary>
  <p>${messages.connectAgentLead}</p>
  <p>${messages.agentAddress}</p>
  ${copyable(messages, { id: 'agent-address', label: messages.agentAddress, text: address })}
  <p>${messages.agentCommand}</p>
  ${copyable(messages, { id: 'agent-command', label: messages.agentCommand, text: command })}
</details>`;
}

/**
 * A form about the key of the path. A key of another account gets the same 404 as an unknown one. A key that was revoked, perhaps in
 * another tab, has no forms: its own page says so.
 */
export function keyForm(page: {
  form(context: MemberContext, key: ListedKey): Omit<FormPage, 'cancel'>;
  /** Whether connections have it, too. */
  ofConnections?: true;
  submit(context: MemberContext, key: ListedKey): Promise<PageResponse | Refusal>;
}) {
  async function open<T>(context: MemberContext, next: (key: ListedKey) => Promise<T>) {
    const key = await findKey(context.tools.sql, context.account.id, context.id);
    if (key === null || (key.connection && page.ofConnections !== true)) return notFoundPage(context);
    return key.revoked === null ? next(key) : redirectTo(context, `/keys/${key.id}`);
  }
  return memberForm({
    page: (context) =>
      open(
        context,
        async (key): Promise<FormPage> => ({ ...page.form(context, key), cancel: `/keys/${key.id}` }),
      ),
    submit: (context) => open(context, (key) => page.submit(context, key)),
  });
}

/** The use of a key today and on the six days before (UTC). */
export interface KeyCounts {
  /** Credits that it has spent. */
  credits: number;
  /** Requests and items that were refused, at no cost. */
  refused: number;
}

export const NO_COUNTS: KeyCounts = { credits: 0, refused: 0 };

const DAYS = 7;
/** Error answers that are no refusals. */
const OTHERS = ['4xx', '5xx'];

/** The counts of some keys by id; a key without any has no entry. Rows of other keys are not read, because an account can have very many. */
export async function readKeyCounts(
  sql: Sql,
  accountId: string,
  keys: { id: string }[],
): Promise<Map<string, KeyCounts>> {
  const ids = keys.map(({ id }) => id);
  const first = sql`((now() AT TIME ZONE 'UTC')::date - ${DAYS - 1}::integer)`;
  const refusals = ERROR_KINDS.filter((kind) => !OTHERS.includes(kind));
  const rows = await sql<(KeyCounts & { id: string })[]>`
    WITH wanted AS (
      SELECT id, ${first} + day AS day FROM unnest(${ids}::text[]) AS id, generate_series(0, ${DAYS - 1}::integer) AS day)
    SELECT id, sum(credits)::bigint AS credits, sum(refused)::bigint AS refused FROM (
      SELECT id, CASE WHEN is_error THEN 0 ELSE calls END AS credits,
        CASE WHEN kind = ANY (${refusals}::text[]) THEN calls ELSE 0 END AS refused
      FROM wanted JOIN key_counts d ON d.account_id = ${accountId} AND d.day = wanted.day AND d.key_id = id
      UNION ALL
      SELECT key_id, calls, 0 FROM journal_counts
      WHERE account_id = ${accountId} AND day >= ${first} AND key_id = ANY (${ids}::text[])
    ) AS counts GROUP BY id`;
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}
