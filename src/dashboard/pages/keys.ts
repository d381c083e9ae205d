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
import { type MemberVisit, type Reply, redirectTo } from '../request/visit.ts';
import { contactLink } from '../ui/contact.ts';
import { type Html, html } from '../ui/html.ts';
import { awaitsConfirmation, field, memberPage, messagePage, notice, token } from '../ui/layout.ts';
import { loadLastUsed } from '../usage/daily-calls.ts';
import { type Refusal, refusalAlert, refusedFields, stateOf } from './entry.ts';

/** A key that was not used for this long is marked. */
const IDLE_MS = 90 * DAY;

/** The message of a redirect's `?done=`. */
const NOTICES = new Map<string, (texts: MemberVisit['texts']) => string>([
  ['revoked', (texts) => texts.keyRevoked],
  ['renamed', (texts) => texts.saved],
]);

/** GET /dashboard/keys */
export async function showKeys(visit: MemberVisit): Promise<Reply> {
  return keysPage(visit, null, null);
}

/**
 * POST /dashboard/keys: creates a key. The answer to this one form holds its secret; nothing else ever does, and it is kept in no
 * cache. A form that is sent twice creates one key, and both answers show its secret: a browser drops the first one.
 */
export async function makeKey(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, formats, fields, account, user } = visit;
  const name = fields('name').trim();
  const expires = fields('expires').trim() === '' ? null : endOfDay(fields('expires').trim());
  const refuse = (message: string, status: number) => keysPage(visit, null, { message, status });
  if (awaitsConfirmation(visit)) return refuse(texts.confirmFirst, 403);
  if (account.suspended) return refuse(texts.suspended, 403);
  const faults = {
    ...(!isName(name) && { name: texts.keyNameInvalid }),
    ...(expires === undefined && { expires: texts.keyExpiryInvalid }),
  };
  if (expires === undefined || Object.keys(faults).length > 0) {
    return keysPage(visit, null, refusedFields(faults));
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
      { ...visit, account: await tools.readAccount(account.id) },
      { secret, previousUntil: null },
      null,
    );
  } catch (error) {
    if (error instanceof KeyExistsError) return refuse(texts.sentAlready, 409);
    if (!(error instanceof TooManyKeysError)) throw error;
    tools.log.info({ account: account.id, reason: messageOf(error) }, 'a key was refused');
    // Another tab may have created keys since the account was read.
    const fresh = await tools.readAccount(account.id);
    const message = texts.tooManyKeys[error.bound](formats.number(error.limit));
    return keysPage({ ...visit, account: fresh }, null, { message, status: 409 });
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
  visit: MemberVisit,
  secret: NewSecret | null,
  refusal: Refusal | null,
): Promise<Reply> {
  const { tools, texts, formats, account, url } = visit;
  const [{ active, revoked, revokedCount }, lastUsed] = await Promise.all([
    recentKeys(tools.sql, account.id),
    loadLastUsed(tools.sql, account.id),
  ]);
  const older = revokedCount - revoked.length;
  const limit = account.keyLimit === null ? null : formats.number(account.keyLimit);
  const body = html`
${secret === null && notice(NOTICES.get(url.searchParams.get('done') ?? '')?.(texts))}
<div class="heading">
  <h1>${texts.keysTitle}</h1>
  <span class="badge" data-figure="quota">${texts.keysUsed(formats.number(account.keys), limit)}</span>
</div>
<p class="lead">${texts.keysLead}</p>
${secret !== null && newKey(visit, secret, await tools.exampleQuery())}
${active.length === 0 ? html`<div class="card empty"><h2>${texts.keysEmpty}</h2><p>${texts.keysEmptyLead}</p></div>` : list(visit, active, lastUsed)}
${createForm(visit, refusal)}
${
  revoked.length > 0 &&
  html`<details class="card"><summary>${texts.revokedKeys(formats.number(revokedCount))}</summary>${list(visit, revoked, lastUsed)}${
    older > 0 && html`<p class="hint">${texts.olderRevokedKeys(formats.number(older))}</p>`
  }</details>`
}`;
  return memberPage(visit, {
    section: '/keys',
    title: texts.keysTitle,
    body,
    ...(refusal !== null && { status: refusal.status }),
  });
}

function newKey(visit: MemberVisit, { secret, previousUntil }: NewSecret, example: string): Html {
  const { texts, tools, formats } = visit;
  const copyable = (id: string, label: string, text: string) => html`
  <div class="copyable">
    <code id="${id}" data-secret tabindex="0" role="group" aria-label="${label}">${text}</code>
    <button class="small" type="button" data-copy="${id}" data-copied="${texts.copied}" hidden>${texts.copy}</button>
  </div>`;
  const curl = `curl -sH 'Authorization: Bearer ${secret}' \\\n  '${tools.publicUrl}/api/v1/companies?q=${example}'`;
  return html`
<section class="card new-key" role="status" tabindex="-1" autofocus data-forget-form>
  <h2>${previousUntil === null ? texts.newKey : texts.newSecret}</h2>
  <p>${texts.newKeyLead}</p>
  ${previousUntil !== null && html`<p>${texts.previousUntil(formats.instant(previousUntil))}</p>`}
  ${copyable('new-secret', texts.newKey, secret)}
  <p>${texts.newKeyTry}</p>
  ${copyable('new-curl', texts.newKeyTry, curl)}
</section>`;
}

function list(visit: MemberVisit, keys: ApiKey[], lastUsed: Map<string, string>): Html {
  const { texts, formats, tools } = visit;
  const isActive = keys[0]?.revoked === null;
  const today = new Date().toISOString().slice(0, 10);
  const used = (key: ApiKey) => {
    const day = lastUsed.get(key.id);
    if (day === undefined) return texts.never;
    return html`<time datetime="${day}">${day === today ? texts.today : formats.date(new Date(`${day}T00:00:00Z`))}</time>`;
  };
  const moment = (instant: Date) =>
    html`<time datetime="${instant.toISOString()}">${formats.date(instant)}</time>`;
  return html`
<div class="${isActive ? 'card ' : ''}list">
<table class="stacked">
  <thead><tr><th scope="col">${texts.name}</th><th scope="col">${texts.begins}</th><th scope="col">${texts.created}</th><th scope="col">${texts.lastUsed}</th><th scope="col">${isActive ? html`<span class="unseen">${texts.change}</span>` : texts.revoked}</th></tr></thead>
  <tbody>${keys.map(
    (key) => html`
    <tr>
      <th scope="row">${nameOf(key, visit)} ${isActive && badges(visit, key, lastUsed.get(key.id))}</th>
      <td data-label="${texts.begins}"><code>${key.start}…</code></td>
      <td data-label="${texts.created}">${moment(key.created)}</td>
      <td data-label="${texts.lastUsed}">${used(key)}</td>
      <td class="end"${!isActive && html` data-label="${texts.revoked}"`}>${
        key.revoked === null
          ? html`<a class="button small quiet" href="${tools.base}/keys/${key.id}/rotate" aria-label="${texts.rotate}: ${nameOf(key, visit)}">${texts.rotate}</a>
          <a class="button small quiet" href="${tools.base}/keys/${key.id}/rename" aria-label="${texts.rename}: ${nameOf(key, visit)}">${texts.rename}</a>
          <a class="button small quiet-bad" href="${tools.base}/keys/${key.id}/revoke" aria-label="${texts.revoke}: ${nameOf(key, visit)}">${texts.revoke}</a>`
          : moment(key.revoked)
      }</td>
    </tr>`,
  )}
  </tbody>
</table>
</div>`;
}

/** Notes on an active key beside its dates. */
function badges({ texts, formats }: MemberVisit, key: ApiKey, lastUsed: string | undefined): Html {
  const now = Date.now();
  const idleSince = lastUsed === undefined ? key.created.getTime() : Date.parse(lastUsed);
  return html`
    ${key.expires !== null && html`<span class="badge${key.expires.getTime() <= now && ' bad'}">${key.expires.getTime() <= now ? texts.expired : texts.expiresOn(formats.instant(key.expires))}</span>`}
    ${key.previousUntil !== null && html`<span class="badge">${texts.previousUntil(formats.instant(key.previousUntil))}</span>`}
    ${now - idleSince > IDLE_MS && html`<span class="badge">${texts.idle}</span>`}`;
}

/** The end of a day in UTC; `undefined` when it is no day, or not in the future. */
function endOfDay(day: string): Date | undefined {
  if (!isRealDate(day)) return undefined;
  const end = new Date(Date.parse(`${day}T00:00:00Z`) + DAY);
  return end.getTime() > Date.now() ? end : undefined;
}

/** Without a refusal no field has the focus: the list of keys comes before the form. */
const faultOf = (refusal: Refusal | null, name: string) => stateOf(refusal, name, '');

function createForm(visit: MemberVisit, refusal: Refusal | null): Html {
  const { texts, formats, tools, account, fields, url } = visit;
  const full = account.keyLimit !== null && account.keys >= account.keyLimit;
  const why = awaitsConfirmation(visit)
    ? texts.confirmFirst
    : full
      ? texts.tooManyKeys.plan(formats.number(account.keyLimit ?? 0))
      : null;
  return html`
<section class="card create" aria-labelledby="create-title">
  <h2 id="create-title">${texts.createKey}</h2>
  ${refusalAlert(refusal)}
  ${
    why !== null
      ? refusal?.message !== why && html`<p>${why} ${full && contactLink(visit)}</p>`
      : html`
  <form class="inline" method="post" action="${tools.base}/keys">
    ${token(visit)}
    ${field({ name: 'name', label: texts.keyName, hint: texts.keyNameHint, value: refusal === null ? (url.searchParams.get('name') ?? '') : fields('name'), autocomplete: 'off', ...faultOf(refusal, 'name') })}
    ${field({ name: 'expires', label: texts.keyExpires, hint: texts.keyExpiresHint, type: 'date', value: refusal === null ? '' : fields('expires'), autocomplete: 'off', optional: true, ...faultOf(refusal, 'expires') })}
    <button type="submit">${texts.createKey}</button>
  </form>`
  }
</section>`;
}

/** GET /dashboard/keys/:id/revoke: asks once more. */
export async function askRevoke(visit: MemberVisit): Promise<Reply> {
  const { texts, tools } = visit;
  const key = await ownKey(visit);
  if (key === null || key.revoked !== null)
    return messagePage(visit, 404, texts.notFound, texts.notFoundLead);
  const body = html`
<section class="card sheet confirm">
  <h1>${texts.revokeTitle(nameOf(key, visit))}</h1>
  <p>${texts.revokeLead(key.start)}</p>
  <form class="actions" method="post" action="${tools.base}/keys/${key.id}/revoke">
    ${token(visit)}
    <button class="bad" type="submit">${texts.revokeButton}</button>
    <a class="button quiet" href="${tools.base}/keys">${texts.cancel}</a>
  </form>
</section>`;
  return memberPage(visit, { section: '/keys', title: texts.revoke, body });
}

/** POST /dashboard/keys/:id/revoke */
export async function revoke(visit: MemberVisit): Promise<Reply> {
  const { texts, tools, user } = visit;
  const key = await ownKey(visit);
  if (key === null) return messagePage(visit, 404, texts.notFound, texts.notFoundLead);
  await revokeKey(tools.sql, key.id, actorOf(user));
  return redirectTo(visit, '/keys?done=revoked');
}

/** The key of the path, if it is the member's own: another account's key is as unknown as one that isn't there. */
export async function ownKey({ tools, account, params }: MemberVisit): Promise<ApiKey | null> {
  return findKey(tools.sql, account.id, params.id ?? '');
}

export function nameOf(key: ApiKey, { texts }: MemberVisit): string {
  return key.name === '' ? texts.unnamed : key.name;
}
