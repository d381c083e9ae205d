import { MCP_PATH } from '../../http/api-route.ts';
import { generateSecret, RANDOM_BYTES } from '../../metering/keys/secret.ts';
import {
  type ApiKey,
  createKey,
  KeyExistsError,
  pageOfKeys,
  TooManyKeysError,
} from '../../metering/keys/store.ts';
import { messageOf } from '../../platform/errors.ts';
import { DAY } from '../../platform/units.ts';
import { actorOf } from '../auth/members.ts';
import type { MemberContext } from '../page-context.ts';
import { codeSamples, EXAMPLE_QUERY } from '../reference/code-samples.ts';
import type { PageResponse } from '../request/context.ts';
import { bytesOfForm, TOKEN_FIELD } from '../request/csrf.ts';
import {
  failureNotice,
  faultsOf,
  form,
  formHandlers,
  type Refusal,
  refusalOf,
  refuse,
} from '../request/forms.ts';
import { awaitsConfirmation, memberPage } from '../request/layout.ts';
import { type Html, html } from '../ui/html.ts';
import { type Column, contactLink, copyable, dateOf, table } from '../ui/parts.ts';
import { changeLinks, endOfDay, keyBadges, keyName } from './key-parts.ts';
import { loadLastUsed } from './last-used.ts';

/** A key that was not used for this long is marked. */
const IDLE_MS = 90 * DAY;

/**
 * GET and POST /dashboard/keys. The answer to the form holds the secret of the new key; nothing else ever does, and it is kept in
 * no cache. A form that is sent twice creates one key, and both answers show its secret: a browser drops the first one.
 */
export const keys = formHandlers({ show: showKeys, submit: create });

async function create(context: MemberContext): Promise<PageResponse | Refusal> {
  const { tools, messages, formats, sent, account, user } = context;
  const name = sent('name').trim();
  const day = sent('expires').trim();
  const expires = day === '' ? null : endOfDay(day);
  if (awaitsConfirmation(context)) return refuse(403, { message: messages.confirmFirst });
  if (account.suspended) return refuse(403, { message: messages.suspended });
  const refusal = refusalOf({
    ...faultsOf(context, ['name']),
    expires: expires === undefined && messages.keyExpiryInvalid,
  });
  if (expires === undefined || refusal !== null) return refusal!;
  // Read after the change, so that it counts the new key, or those of another tab.
  const fresh = async () => ({ ...context, account: await tools.readAccount(account.id) });
  try {
    const what = name + (expires?.toISOString() ?? '');
    const secret = generateSecret(bytesOfForm(tools.secret, sent(TOKEN_FIELD), what, RANDOM_BYTES));
    await createKey(tools.sql, account.id, name, actorOf(user), expires, secret);
    return showKeys(await fresh(), null, { secret, previousUntil: null });
  } catch (error) {
    if (error instanceof KeyExistsError) return refuse(409, { message: messages.sentAlready });
    if (!(error instanceof TooManyKeysError)) throw error;
    tools.log.info({ account: account.id, reason: messageOf(error) }, 'a key was refused');
    const message = messages.tooManyKeys[error.bound](formats.number(error.limit));
    return showKeys(await fresh(), refuse(409, { message }));
  }
}

/** A secret that is shown once. */
interface NewSecret {
  secret: string;
  /** The instant until which the replaced secret works; `null` if there is none. */
  previousUntil: Date | null;
}

/** @param secret of the key that a form has created or rotated */
export async function showKeys(
  context: MemberContext,
  refusal: Refusal | null,
  secret: NewSecret | null = null,
): Promise<PageResponse> {
  const { tools, messages, formats, account, url } = context;
  const before = url.searchParams.get('before');
  const { active, hasOlder, ended, hasMoreEnded } = await pageOfKeys(tools.sql, account.id, before);
  const ids = [...active, ...ended].map(({ id }) => id);
  const lastUsed = await loadLastUsed(tools.sql, account.id, ids);
  const limit = formats.number(account.keyLimit);
  const isEmpty = active.length === 0 && before === null;
  const body = html`
<div class="heading">
  <h1>${messages.keys}</h1>
  <span class="badge" data-figure="quota">${formats.number(account.keys)} ${messages.keysInUse(limit)}</span>
</div>
<p class="lead">${messages.keysLead}</p>
${account.keys > account.keyLimit && html`<p class="notice warn" data-over-limit>${messages.keysOverLimit(formats.number(account.keys), limit)}</p>`}
${secret !== null && newKey(context, secret)}
${createForm(context, refusal)}
${isEmpty ? html`<div class="card empty"><h2>${messages.keysEmpty}</h2><p>${messages.keysEmptyLead}</p></div>` : html`<div class="card list">${listKeys(context, active, lastUsed)}</div>`}
${before !== null && html`<p><a href="${tools.base}/keys">${messages.latestKeys}</a></p>`}
${hasOlder && html`<p><a href="${tools.base}/keys?before=${active.at(-1)!.id}">${messages.olderKeys}</a></p>`}
${connectAgent(context)}
${
  ended.length > 0 &&
  html`<details class="card"><summary>${messages.endedKeys(formats.number(ended.length))}</summary>${listKeys(context, ended, lastUsed)}${
    hasMoreEnded && html`<p class="hint">${messages.moreEndedKeys}</p>`
  }</details>`
}`;
  return memberPage(context, { title: messages.keys, body, ...refusal });
}

function newKey({ messages, tools, formats }: MemberContext, { secret, previousUntil }: NewSecret): Html {
  const address = `${tools.publicUrl}/api/v1/companies?q=${EXAMPLE_QUERY}`;
  return html`
<section class="card new-key" role="status" tabindex="-1" autofocus data-forget-form>
  <h2>${messages.newKey}</h2>
  <p>${messages.newKeyLead}</p>
  ${previousUntil !== null && html`<p>${messages.previousUntil(formats.instant(previousUntil))}</p>`}
  ${copyable(messages, { id: 'new-secret', label: messages.newKey, text: secret })}
  <p>${messages.newKeyTry}</p>
  ${copyable(messages, { id: 'new-export', label: messages.newKeyTry, text: `export API_KEY='${secret}'` })}
  ${codeSamples(messages, { id: 'new', method: 'GET', address })}
</section>`;
}

function listKeys(context: MemberContext, keys: ApiKey[], lastUsed: Map<string, string>): Html {
  const { messages, tools } = context;
  const columns: Column<ApiKey>[] = [
    [
      messages.name,
      (key) => html`
        <a href="${tools.base}/keys/${key.id}">${keyName(key, messages)}</a> ${keyBadges(context, key)} ${isIdle(key, lastUsed.get(key.id)) && html`<span class="badge">${messages.idle}</span>`}`,
    ],
    ...commonColumns(context, lastUsed),
    [messages.change, (key) => changeLinks(context, key), 'end'],
  ];
  return html`<div class="list">${table(columns, keys)}</div>`;
}

/** Whether a key that works was not used for long. */
function isIdle({ created, revoked, expires }: ApiKey, lastUsed: string | undefined): boolean {
  const hasEnded = revoked !== null || (expires !== null && expires <= new Date());
  const idleSince = lastUsed === undefined ? created.getTime() : Date.parse(lastUsed);
  return !hasEnded && Date.now() - idleSince > IDLE_MS;
}

function commonColumns(
  { messages, formats }: MemberContext,
  lastUsed: Map<string, string>,
): Column<ApiKey>[] {
  const today = new Date().toISOString().slice(0, 10);
  const used = (key: ApiKey) => {
    const day = lastUsed.get(key.id);
    if (day === undefined) return messages.never;
    return day === today ? html`<time datetime="${day}">${messages.today}</time>` : dateOf(formats, day);
  };
  return [
    [messages.begins, ({ start }) => html`<code>${start}…</code>`],
    [messages.created, ({ created }) => dateOf(formats, created)],
    [messages.lastUsed, used],
  ];
}

function createForm(context: MemberContext, refusal: Refusal | null): Html {
  const { messages, formats, account, url } = context;
  const full = account.keys >= account.keyLimit;
  const why = awaitsConfirmation(context)
    ? messages.confirmFirst
    : full && messages.tooManyKeys[account.plan](formats.number(account.keyLimit));
  // A form that was sent without a session leads back here after the sign-in, with the typed text.
  const typed = (name: string) => url.searchParams.get(name) ?? '';
  return html`
<section class="card create" aria-labelledby="create-title">
  <h2 id="create-title">${messages.createKey}</h2>
  ${
    why
      ? html`${failureNotice(refusal?.message)}${refusal?.message !== why && html`<p>${why} ${full && contactLink(context)}</p>`}`
      : form(context, {
          path: '/keys',
          fields: [
            { name: 'name', label: messages.name, hint: messages.keyNameHint, value: typed('name') },
            {
              name: 'expires',
              label: messages.validUntil,
              hint: messages.keyExpiresHint,
              type: 'date',
              value: typed('expires'),
              optional: true,
            },
          ],
          // The list of keys comes before the form.
          focus: false,
          button: messages.createKey,
          refusal,
          isInline: true,
        })
  }
</section>`;
}

function connectAgent({ messages, tools }: MemberContext): Html {
  const address = tools.publicUrl + MCP_PATH;
  const command = `claude mcp add --transport http company-directory ${address} \\\n  --header 'Authorization: Bearer svc_…'`;
  return html`
<section class="card" aria-labelledby="agent-title">
  <h2 id="agent-title">${messages.connectAgent}</h2>
  <p>${messages.connectAgentLead}</p>
  <p>${messages.agentAddress}</p>
  ${copyable(messages, { id: 'agent-address', label: messages.agentAddress, text: address })}
  <p>${messages.agentCommand}</p>
  ${copyable(messages, { id: 'agent-command', label: messages.agentCommand, text: command })}
</section>`;
}
