import { takesConnections } from '../../mcp/resource.ts';
import {
  KEY_STATES,
  type KeyFilter,
  type ListedKey,
  listConnections,
  pageOfKeys,
} from '../../metering/keys/key-list.ts';
import { createKey, KeyExistsError, TooManyKeysError } from '../../metering/keys/key-store.ts';
import { generateSecret, RANDOM_BYTES } from '../../metering/keys/secret.ts';
import { messageOf } from '../../platform/errors.ts';
import { formHandlers } from '../auth/form-page.ts';
import { actorOf } from '../auth/members.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { bytesOfForm, TOKEN_FIELD } from '../request/csrf.ts';
import { failureNotice, field, form, type Refusal, refuse } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { type Column, contactLink, type Html, type HtmlValue, html, table } from '../ui/html.ts';
import { filled } from '../ui/states.ts';
import { pageLinks } from '../usage/paging.ts';
import { budgetLeft, keyFields, sentKey } from './key-limits.ts';
import {
  type KeyCounts,
  keyBadges,
  keyName,
  lastUse,
  type NewSecret,
  NO_COUNTS,
  newSecretCard,
  readKeyCounts,
} from './key-parts.ts';

/**
 * GET and POST /dashboard/keys. The answer to the form holds the secret of the new key; nothing else ever does, and it is kept in
 * no cache. A form that is sent twice creates one key, and both answers show its secret: a browser drops the first one.
 */
export const keys = formHandlers({ show: showKeys, submit: create });

async function create(context: MemberContext): Promise<PageResponse | Refusal> {
  const { tools, messages, formats, sent, account, user } = context;
  if (account.suspended) return refuse(403, { message: messages.suspendedRefusal });
  const read = sentKey(context, null);
  if ('refused' in read) return read;
  const { name, expires, limits } = read;
  // Read after the change, so that it counts the new key, or those of another tab.
  const fresh = async () => ({ ...context, account: await tools.readAccount(account.id) });
  try {
    const isTest = sent('test') === 'yes';
    const what = `${isTest ? 'test ' : ''}${name}${expires?.toISOString() ?? ''}`;
    const random = bytesOfForm(tools.secret, sent(TOKEN_FIELD), what, RANDOM_BYTES);
    const secret = generateSecret(random, isTest);
    const { id } = await createKey(tools.sql, account.id, name, actorOf(user), expires, secret, limits);
    return showKeys(await fresh(), null, { id, secret, previousUntil: null, only: limits.only });
  } catch (error) {
    if (error instanceof KeyExistsError) return refuse(409, { message: messages.sentAlready });
    if (!(error instanceof TooManyKeysError)) throw error;
    tools.log.info({ account: account.id, reason: messageOf(error) }, 'a key was refused');
    const isOver = error.bound !== 'day' && account.keys > error.limit;
    const atLimit = messages.tooManyKeys[error.bound](formats.number(error.limit));
    return showKeys(await fresh(), refuse(409, { message: isOver ? overLimit(context) : atLimit }));
  }
}

/** The text of an account with more keys than its plan has room for, as after a Plus that ended. */
function overLimit({ messages, formats, account }: MemberContext): string {
  const { keys, keyLimit } = account;
  const [count, limit, excess] = [keys, keyLimit, keys - keyLimit + 1].map(formats.number);
  return filled(messages.states.tooManyKeys, [count!, limit!], [], [excess!]);
}

/** @param secret of the key that a form has created or rotated */
export async function showKeys(
  context: MemberContext,
  refusal: Refusal | null,
  secret: NewSecret | null = null,
): Promise<PageResponse> {
  const { tools, messages, formats, account, url } = context;
  const text = url.searchParams.get('q')?.slice(0, 200) ?? '';
  const state = KEY_STATES.find((state) => state === url.searchParams.get('state')) ?? 'all';
  const before = url.searchParams.get('before');
  const page = await pageOfKeys(tools.sql, account.id, { before, text, state });
  const { active, hasOlder, ended, hasMoreEnded } = page;
  const connections = await listConnections(tools.sql, account.id);
  const counts = await readKeyCounts(tools.sql, account.id, [...active, ...ended, ...connections]);
  const limit = formats.number(account.keyLimit);
  const isFiltered = text !== '' || state !== 'all';
  const isEmpty = active.length + ended.length === 0 && before === null && !isFiltered;
  const create = createForm(context, refusal);
  // A refused form, or one that was typed before a sign-in, is what its reader looks for.
  const isFormFirst = refusal !== null || url.searchParams.has('name');
  const list = html`
${isEmpty && html`<div class="card empty"><h2>${messages.keysEmpty}</h2></div>`}
${(isFiltered || active.length + ended.length >= FILTER_FROM) && filterForm(context, { text, state })}
${isFiltered && active.length + ended.length === 0 && html`<p class="card empty" role="status">${messages.noKeyFound}</p>`}
${active.length > 0 && html`<div class="card list">${listKeys(context, active, counts)}</div>`}
${pageLinks(context, '/keys', before !== null, hasOlder ? active.at(-1)!.id : null, { q: text, state })}
${
  ended.length > 0 &&
  html`<details class="card"${isFiltered && html` open`}><summary>${messages.endedKeys(formats.number(ended.length))}</summary>${listKeys(context, ended, counts)}${
    hasMoreEnded && html`<p class="hint">${messages.moreEndedKeys}</p>`
  }</details>`
}`;
  const body = html`
<div class="heading">
  <h1>${messages.keys}</h1>
  <div class="choices">
    <span class="badge" data-figure="quota">${formats.number(account.keys)} ${messages.keysInUse(limit)}</span>
    ${active.length > 0 && create !== null && html`<a class="button small quiet" href="#create-title">${messages.createKey}</a>`}
  </div>
</div>
<p class="lead">${messages.keysLead}</p>
${account.keys > account.keyLimit && html`<p class="notice warn" data-over-limit>${overLimit(context)} ${contactLink(context)}</p>`}
${secret !== null && newSecretCard(context, secret)}
${isFormFirst ? [create, list] : [list, create]}
${connectionsCard(context, connections, counts)}`;
  return memberPage(context, { title: messages.keys, body, ...refusal });
}

/** A list of fewer keys is seen at a glance. */
const FILTER_FROM = 8;

function filterForm(context: MemberContext, { text, state }: Required<Omit<KeyFilter, 'before'>>): Html {
  const { messages, tools } = context;
  const states = KEY_STATES.map((name): [string, string] => [name, messages.keyStates[name]]);
  return html`
<form class="filter" method="get" action="${tools.base}/keys" role="search">
  ${field({ name: 'q', label: messages.keySearch, type: 'search', value: text, optional: true })}
  ${field({ name: 'state', label: messages.keyState, options: states, value: state })}
  <button class="quiet" type="submit">${messages.filter}</button>
</form>`;
}

function listKeys(context: MemberContext, keys: ListedKey[], counts: Map<string, KeyCounts>): Html {
  const { messages, tools, formats } = context;
  const of = ({ id }: ListedKey) => counts.get(id) ?? NO_COUNTS;
  const columns: Column<ListedKey>[] = [
    [
      messages.name,
      (key) => html`
        <a href="${tools.base}/keys/${key.id}">${keyName(key, messages)}</a> ${keyBadges(context, key)} ${key.isIdle && html`<span class="badge">${messages.keyStates.idle}</span>`}`,
    ],
    [messages.begins, ({ start, connection }) => (connection ? '–' : html`<code>${start}…</code>`)],
    [messages.lastUsed, (key) => lastUse(context, key, of(key))],
    [messages.creditsOfWeek, (key) => formats.number(of(key).credits), 'amount'],
    [
      messages.refusedOfWeek,
      (key) => {
        const { refused } = of(key);
        if (refused === 0) return formats.number(0);
        return html`<a href="${tools.base}/activity?key=${key.id}&amp;problems=yes">${formats.number(refused)}</a>`;
      },
      'amount',
    ],
    [messages.keyBudget, (key) => budgetLeft(context, key)],
  ];
  return html`<div class="list">${table(columns, keys, 'keys')}</div>`;
}

/** The agents that members have connected; nothing where none can connect. */
function connectionsCard(
  context: MemberContext,
  connections: ListedKey[],
  counts: Map<string, KeyCounts>,
): HtmlValue {
  const { messages, tools } = context;
  if (!takesConnections(tools.publicUrl)) return null;
  return html`
<section class="card" aria-labelledby="connections-title">
  <h2 id="connections-title">${messages.connections}</h2>
  <p>${messages.connectionsLead} <code>${tools.publicUrl}/mcp</code></p>
  ${connections.length > 0 && listKeys(context, connections, counts)}
</section>`;
}

function createForm(context: MemberContext, refusal: Refusal | null): HtmlValue {
  const { messages, formats, account, url } = context;
  const full = account.keys >= account.keyLimit;
  // The notice above says what to do first.
  if (account.keys > account.keyLimit && refusal === null) return null;
  const why = full && messages.tooManyKeys[account.plan](formats.number(account.keyLimit));
  // A form that was sent without a session leads back here after the sign-in, with the typed text.
  const typed = (name: string) => url.searchParams.get(name) ?? '';
  return html`
<section class="card create" aria-labelledby="create-title">
  <h2 id="create-title">${messages.createKey}</h2>
  ${
    why
      ? html`${failureNotice(refusal?.message)}${account.keys <= account.keyLimit && refusal?.message !== why && html`<p>${why} ${contactLink(context)}</p>`}`
      : form(context, {
          path: '/keys',
          ...keyFields(context, null, typed),
          focus: false,
          button: messages.createKey,
          refusal,
        })
  }
  ${testKeyForm(context)}
</section>`;
}

/** A test key takes no place of the plan, so it can be created when the plan has no room. */
function testKeyForm(context: MemberContext): Html {
  const { testKey, testKeyLead, createTestKey } = context.messages;
  const hidden = { name: testKey, test: 'yes' };
  return html`<p>${testKeyLead}</p>${form(context, { path: '/keys', hidden, button: createTestKey, look: 'quiet' })}`;
}
