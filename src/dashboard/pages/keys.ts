import { messageOf } from '../../errors.ts';
import { generateSecret, RANDOM_BYTES } from '../../keys/secret.ts';
import {
  type ApiKey,
  createKeyOnce,
  findKey,
  KeyExistsError,
  recentKeys,
  revokeKey,
  TooManyKeysError,
} from '../../keys/store.ts';
import { isName } from '../../names.ts';
import { isRealDate } from '../../terminal/values.ts';
import { DAY } from '../../units.ts';
import { actorOf } from '../auth/members.ts';
import { bytesOfForm, TOKEN_FIELD } from '../request/csrf.ts';
import { type MemberContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { contactLink } from '../ui/contact.ts';
import { type Html, html } from '../ui/html.ts';
import { awaitsConfirmation, field, memberPage, messagePage, notice, token } from '../ui/layout.ts';
import { loadLastUsed } from '../usage/daily-calls.ts';
import { exampleQuery } from '../usage/example-query.ts';
import { type Refusal, refusalAlert, refusedFields, stateOf } from './entry.ts';

/** A key that was not used for this long is marked. */
const IDLE_MS = 90 * DAY;

/** The message of a redirect's `?done=`. */
const NOTICES = new Map<string, (messages: MemberContext['messages']) => string>([
  ['revoked', (messages) => messages.keyRevoked],
  ['renamed', (messages) => messages.saved],
]);

/** GET /dashboard/keys */
export async function showKeys(context: MemberContext): Promise<PageResponse> {
  return keysPage(context, null, null);
}

/**
 * POST /dashboard/keys: creates a key. The answer to this one form holds its secret; nothing else ever does, and it is kept in no
 * cache. A form that is sent twice creates one key, and both answers show its secret: a browser drops the first one.
 */
export async function makeKey(context: MemberContext): Promise<PageResponse> {
  const { tools, messages, formats, fields, account, user } = context;
  const name = fields('name').trim();
  const expires = fields('expires').trim() === '' ? null : endOfDay(fields('expires').trim());
  const refuse = (message: string, status: number) => keysPage(context, null, { message, status });
  if (awaitsConfirmation(context)) return refuse(messages.confirmFirst, 403);
  if (account.suspended) return refuse(messages.suspended, 403);
  const faults = {
    ...(!isName(name) && { name: messages.keyNameInvalid }),
    ...(expires === undefined && { expires: messages.keyExpiryInvalid }),
  };
  if (expires === undefined || Object.keys(faults).length > 0) {
    return keysPage(context, null, refusedFields(faults));
  }
  try {
    const random = bytesOfForm(
      tools.secret,
      fields(TOKEN_FIELD),
      name + (expires?.toISOString() ?? ''),
      RANDOM_BYTES,
    );
    const secret = generateSecret(random);
    await createKeyOnce(tools.sql, account.id, name, actorOf(user), { secret, expires });
    return keysPage(
      { ...context, account: await tools.readAccount(account.id) },
      { secret, previousUntil: null },
      null,
    );
  } catch (error) {
    if (error instanceof KeyExistsError) return refuse(messages.sentAlready, 409);
    if (!(error instanceof TooManyKeysError)) throw error;
    tools.log.info({ account: account.id, reason: messageOf(error) }, 'a key was refused');
    // Another tab may have created keys since the account was read.
    const fresh = await tools.readAccount(account.id);
    const message = messages.tooManyKeys[error.bound](formats.number(error.limit));
    return keysPage({ ...context, account: fresh }, null, { message, status: 409 });
  }
}

/** A secret that is shown once. */
export interface NewSecret {
  secret: string;
  /** The instant until which the replaced secret works; `null` if there is none. */
  previousUntil: Date | null;
}

/** The page of all keys. @param secret of a key that was just created or rotated */
export async function keysPage(
  context: MemberContext,
  secret: NewSecret | null,
  refusal: Refusal | null,
): Promise<PageResponse> {
  const { tools, messages, formats, account, url } = context;
  const [{ active, revoked, revokedCount }, lastUsed] = await Promise.all([
    recentKeys(tools.sql, account.id),
    loadLastUsed(tools.sql, account.id),
  ]);
  const older = revokedCount - revoked.length;
  const limit = account.keyLimit === null ? null : formats.number(account.keyLimit);
  const body = html`
${secret === null && notice(NOTICES.get(url.searchParams.get('done') ?? '')?.(messages))}
<div class="heading">
  <h1>${messages.keysTitle}</h1>
  <span class="badge" data-figure="quota">${messages.keysUsed(formats.number(account.keys), limit)}</span>
</div>
<p class="lead">${messages.keysLead}</p>
${secret !== null && newKey(context, secret, await exampleQuery(tools.sql))}
${active.length === 0 ? html`<div class="card empty"><h2>${messages.keysEmpty}</h2><p>${messages.keysEmptyLead}</p></div>` : list(context, active, lastUsed)}
${createForm(context, refusal)}
${
  revoked.length > 0 &&
  html`<details class="card"><summary>${messages.revokedKeys(formats.number(revokedCount))}</summary>${list(context, revoked, lastUsed)}${
    older > 0 && html`<p class="hint">${messages.olderRevokedKeys(formats.number(older))}</p>`
  }</details>`
}`;
  return memberPage(context, {
    section: '/keys',
    title: messages.keysTitle,
    body,
    ...(refusal !== null && { status: refusal.status }),
  });
}

function newKey(context: MemberContext, { secret, previousUntil }: NewSecret, example: string): Html {
  const { messages, tools, formats } = context;
  const copyable = (id: string, label: string, text: string) => html`
  <div class="copyable">
    <code id="${id}" data-secret tabindex="0" role="group" aria-label="${label}">${text}</code>
    <button class="small" type="button" data-copy="${id}" data-copied="${messages.copied}" hidden>${messages.copy}</button>
  </div>`;
  const curl = `curl -sH 'Authorization: Bearer ${secret}' \\\n  '${tools.publicUrl}/api/v1/companies?q=${example}'`;
  return html`
<section class="card new-key" role="status" tabindex="-1" autofocus data-forget-form>
  <h2>${previousUntil === null ? messages.newKey : messages.newSecret}</h2>
  <p>${messages.newKeyLead}</p>
  ${previousUntil !== null && html`<p>${messages.previousUntil(formats.instant(previousUntil))}</p>`}
  ${copyable('new-secret', messages.newKey, secret)}
  <p>${messages.newKeyTry}</p>
  ${copyable('new-curl', messages.newKeyTry, curl)}
</section>`;
}

function list(context: MemberContext, keys: ApiKey[], lastUsed: Map<string, string>): Html {
  const { messages, formats, tools } = context;
  const isActive = keys[0]?.revoked === null;
  const today = new Date().toISOString().slice(0, 10);
  const used = (key: ApiKey) => {
    const day = lastUsed.get(key.id);
    if (day === undefined) return messages.never;
    return html`<time datetime="${day}">${day === today ? messages.today : formats.date(new Date(`${day}T00:00:00Z`))}</time>`;
  };
  const moment = (instant: Date) =>
    html`<time datetime="${instant.toISOString()}">${formats.date(instant)}</time>`;
  return html`
<div class="${isActive ? 'card ' : ''}list">
<table class="stacked">
  <thead><tr><th scope="col">${messages.name}</th><th scope="col">${messages.begins}</th><th scope="col">${messages.created}</th><th scope="col">${messages.lastUsed}</th><th scope="col">${isActive ? html`<span class="unseen">${messages.change}</span>` : messages.revoked}</th></tr></thead>
  <tbody>${keys.map(
    (key) => html`
    <tr>
      <th scope="row">${nameOf(key, context)} ${isActive && badges(context, key, lastUsed.get(key.id))}</th>
      <td data-label="${messages.begins}"><code>${key.start}…</code></td>
      <td data-label="${messages.created}">${moment(key.created)}</td>
      <td data-label="${messages.lastUsed}">${used(key)}</td>
      <td class="end"${!isActive && html` data-label="${messages.revoked}"`}>${
        key.revoked === null
          ? html`<a class="button small quiet" href="${tools.base}/keys/${key.id}/rotate" aria-label="${messages.rotate}: ${nameOf(key, context)}">${messages.rotate}</a>
          <a class="button small quiet" href="${tools.base}/keys/${key.id}/rename" aria-label="${messages.rename}: ${nameOf(key, context)}">${messages.rename}</a>
          <a class="button small quiet-bad" href="${tools.base}/keys/${key.id}/revoke" aria-label="${messages.revoke}: ${nameOf(key, context)}">${messages.revoke}</a>`
          : moment(key.revoked)
      }</td>
    </tr>`,
  )}
  </tbody>
</table>
</div>`;
}

/** Notes on an active key beside its dates. */
function badges({ messages, formats }: MemberContext, key: ApiKey, lastUsed: string | undefined): Html {
  const now = Date.now();
  const idleSince = lastUsed === undefined ? key.created.getTime() : Date.parse(lastUsed);
  return html`
    ${key.expires !== null && html`<span class="badge${key.expires.getTime() <= now && ' bad'}">${key.expires.getTime() <= now ? messages.expired : messages.expiresOn(formats.instant(key.expires))}</span>`}
    ${key.previousUntil !== null && html`<span class="badge">${messages.previousUntil(formats.instant(key.previousUntil))}</span>`}
    ${now - idleSince > IDLE_MS && html`<span class="badge">${messages.idle}</span>`}`;
}

/** The end of a day in UTC; `undefined` when it is no day, or not in the future. */
function endOfDay(day: string): Date | undefined {
  if (!isRealDate(day)) return undefined;
  const end = new Date(Date.parse(`${day}T00:00:00Z`) + DAY);
  return end.getTime() > Date.now() ? end : undefined;
}

/** Without a refusal no field has the focus: the list of keys comes before the form. */
const faultOf = (refusal: Refusal | null, name: string) => stateOf(refusal, name, '');

function createForm(context: MemberContext, refusal: Refusal | null): Html {
  const { messages, formats, tools, account, fields, url } = context;
  const full = account.keyLimit !== null && account.keys >= account.keyLimit;
  const why = awaitsConfirmation(context)
    ? messages.confirmFirst
    : full
      ? messages.tooManyKeys.plan(formats.number(account.keyLimit ?? 0))
      : null;
  return html`
<section class="card create" aria-labelledby="create-title">
  <h2 id="create-title">${messages.createKey}</h2>
  ${refusalAlert(refusal)}
  ${
    why !== null
      ? refusal?.message !== why && html`<p>${why} ${full && contactLink(context)}</p>`
      : html`
  <form class="inline" method="post" action="${tools.base}/keys">
    ${token(context)}
    ${field({ name: 'name', label: messages.keyName, hint: messages.keyNameHint, value: refusal === null ? (url.searchParams.get('name') ?? '') : fields('name'), autocomplete: 'off', ...faultOf(refusal, 'name') })}
    ${field({ name: 'expires', label: messages.keyExpires, hint: messages.keyExpiresHint, type: 'date', value: refusal === null ? '' : fields('expires'), autocomplete: 'off', optional: true, ...faultOf(refusal, 'expires') })}
    <button type="submit">${messages.createKey}</button>
  </form>`
  }
</section>`;
}

/** GET /dashboard/keys/:id/revoke: asks once more. */
export async function askRevoke(context: MemberContext): Promise<PageResponse> {
  const { messages, tools } = context;
  const key = await ownKey(context);
  if (key === null || key.revoked !== null)
    return messagePage(context, 404, messages.notFound, messages.notFoundLead);
  const body = html`
<section class="card sheet confirm">
  <h1>${messages.revokeTitle(nameOf(key, context))}</h1>
  <p>${messages.revokeLead(key.start)}</p>
  <form class="actions" method="post" action="${tools.base}/keys/${key.id}/revoke">
    ${token(context)}
    <button class="bad" type="submit">${messages.revokeButton}</button>
    <a class="button quiet" href="${tools.base}/keys">${messages.cancel}</a>
  </form>
</section>`;
  return memberPage(context, { section: '/keys', title: messages.revoke, body });
}

/** POST /dashboard/keys/:id/revoke */
export async function revoke(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, user } = context;
  const key = await ownKey(context);
  if (key === null) return messagePage(context, 404, messages.notFound, messages.notFoundLead);
  await revokeKey(tools.sql, key.id, actorOf(user));
  return redirectTo(context, '/keys?done=revoked');
}

/** The key of the path, if it is the member's own: another account's key is as unknown as one that isn't there. */
export async function ownKey({ tools, account, id }: MemberContext): Promise<ApiKey | null> {
  return findKey(tools.sql, account.id, id);
}

export function nameOf(key: ApiKey, { messages }: MemberContext): string {
  return key.name === '' ? messages.unnamed : key.name;
}
