import { CALL_KINDS } from '../../http/call-kind.ts';
import { ERROR_KINDS } from '../../http/error-kind.ts';
import type { Actor } from '../../metering/accounts/events.ts';
import { DAYS, findKeyDetails, type KeyDetails, type KeySecret } from '../../metering/keys/details.ts';
import { endPreviousSecrets, expireKey } from '../../metering/keys/expire.ts';
import { TooManyKeysError } from '../../metering/keys/store.ts';
import { DAY } from '../../platform/units.ts';
import { actorNames } from '../auth/actors.ts';
import { admit, changesOf } from '../auth/limits.ts';
import { actorOf } from '../auth/members.ts';
import type { MemberContext } from '../page-context.ts';
import { type PageResponse, redirectTo } from '../request/context.ts';
import { failureNotice, type Refusal, refuse, tooMany } from '../request/forms.ts';
import { memberPage, notFoundPage } from '../request/layout.ts';
import { type Html, html } from '../ui/html.ts';
import { type Column, endOf, type Fact, facts, moment, table } from '../ui/parts.ts';
import { keyForm } from './key-form.ts';
import { changeLinks, endOfDay, keyBadges, keyName } from './key-parts.ts';

/** GET /dashboard/keys/:id: a key with its use and its secrets, also one that has ended. */
export const showKey = (context: MemberContext): Promise<PageResponse> => keyPage(context, null);

/** @param refusal of a form about the key */
export async function keyPage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, tools, id, account, formats } = context;
  const key = await findKeyDetails(tools.sql, id, account.id);
  if (key === null) return notFoundPage(context);
  const { number } = formats;
  const about: Fact[] = [
    [messages.begins, html`<code>${key.start}…</code>`],
    [messages.keyId, html`<code>${key.id}</code>`],
    [messages.created, moment(formats, key.created)],
  ];
  if (key.revoked !== null) about.push([messages.revokedBy, await revokedBy(context, key)]);
  const body = html`
<div class="heading"><h1>${keyName(key, messages)}</h1><span>${keyBadges(context, key)}</span></div>
${failureNotice(refusal?.message)}
${facts(about, 'card')}
<p class="actions">${changeLinks(context, key, ['rotate', 'expiry', 'rename', 'revoke'])}</p>
<section class="card" aria-labelledby="use-title">
  <h2 id="use-title">${messages.keyUse(String(DAYS))}</h2>
  ${facts([
    ...CALL_KINDS.map((kind): Fact => [messages.callKinds[kind], number(key.calls[kind])]),
    ...ERROR_KINDS.map((kind): Fact => [messages.errorKinds[kind], number(key.errors[kind] ?? 0)]),
    [messages.errorKinds.errorCredits, number(key.errorCredits)],
  ])}
</section>
${secretsCard(context, key)}`;
  return memberPage(context, { title: keyName(key, messages), body, ...refusal });
}

async function revokedBy(context: MemberContext, key: KeyDetails): Promise<string> {
  const [event] = await context.tools.sql<{ actor: Actor }[]>`
    SELECT actor FROM account_events
    WHERE account_id = ${context.account.id} AND kind = 'key-revoked' AND detail ->> 'key' = ${key.id}`;
  return event === undefined ? '–' : (await actorNames(context))(event.actor);
}

function secretsCard({ messages, formats, tools }: MemberContext, key: KeyDetails): Html {
  const isOld = ({ until }: KeySecret) => until !== null && until > new Date();
  const columns: Column<KeySecret>[] = [
    [
      messages.secret,
      (secret) =>
        secret.until === null
          ? messages.currentSecret
          : isOld(secret)
            ? messages.oldSecret
            : messages.endedSecret,
    ],
    [messages.validUntil, ({ until }) => (until === null ? '–' : endOf(formats, until))],
    [messages.lastUsed, ({ lastUsed }) => (lastUsed === null ? messages.never : moment(formats, lastUsed))],
  ];
  const old = key.secrets.filter(isOld);
  const isInUse = old.some(({ lastUsed }) => lastUsed !== null && lastUsed.getTime() > Date.now() - DAY);
  const question = html`
  <p data-old-secret>${isInUse ? messages.oldSecretInUse : messages.oldSecretIdle}</p>
  <p><a class="button small quiet-bad" href="${tools.base}/keys/${key.id}/end-secret">${messages.endSecret}</a></p>`;
  return html`
<section class="card" aria-labelledby="secrets-title">
  <h2 id="secrets-title">${messages.secrets}</h2>
  ${table(columns, key.secrets)}
  ${old.length > 0 && question}
</section>`;
}

/** /dashboard/keys/:id/expiry: a new last day, also for a key that has expired. */
export const expiry = keyForm({
  form: ({ messages }, key) => ({
    title: messages.newExpiryTitle(keyName(key, messages)),
    fields: [
      {
        name: 'expires',
        label: messages.validUntil,
        hint: messages.newExpiryHint,
        type: 'date',
        optional: true,
        value: key.expires === null ? '' : new Date(key.expires.getTime() - 1).toISOString().slice(0, 10),
      },
    ],
    button: messages.save,
  }),
  async submit(context, key) {
    const { tools, messages, sent, formats, user } = context;
    const day = sent('expires').trim();
    const expires = day === '' ? null : endOfDay(day);
    if (expires === undefined) return refuse(422, { faults: { expires: messages.keyExpiryInvalid } });
    if (key.revoked !== null) return notFoundPage(context);
    const refusal = tooMany(context, await admit(tools.sql, changesOf(user, 'key-expiry-changed')));
    if (refusal !== null) return refusal;
    try {
      await expireKey(tools.sql, key.id, expires, actorOf(user));
    } catch (error) {
      if (!(error instanceof TooManyKeysError)) throw error;
      return refuse(409, { message: messages.tooManyKeys[error.bound](formats.number(error.limit)) });
    }
    return redirectTo(context, '/keys?done=saved');
  },
});

/** /dashboard/keys/:id/end-secret: ends replaced secrets before their time. */
export const endSecret = keyForm({
  form: ({ messages }, key) => ({
    title: messages.endSecretTitle(keyName(key, messages)),
    lead: html`<p>${messages.endSecretLead}</p>`,
    button: messages.endSecret,
    look: 'bad',
  }),
  async submit(context, key) {
    await endPreviousSecrets(context.tools.sql, key.id, actorOf(context.user));
    return redirectTo(context, `/keys/${key.id}`);
  },
});
