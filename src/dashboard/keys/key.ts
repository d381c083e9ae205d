import type { EventKind } from '../../metering/accounts/events.ts';
import { clientHost } from '../../metering/connections/clients.ts';
import { findConnection } from '../../metering/connections/connection-store.ts';
import { endPreviousSecrets, expireKey } from '../../metering/keys/expire.ts';
import { DAYS, type KeySecret, secretsOf } from '../../metering/keys/key-details.ts';
import { findKey } from '../../metering/keys/key-list.ts';
import { KeyExistsError, renameKey, revokeKey, TooManyKeysError } from '../../metering/keys/key-store.ts';
import { limitKey } from '../../metering/keys/limit-key.ts';
import { OVERLAP_S, ROTATIONS_PER_DAY, RotationError, rotateKey } from '../../metering/keys/rotate.ts';
import { generateSecret, RANDOM_BYTES } from '../../metering/keys/secret.ts';
import { DAY, SECOND } from '../../platform/units.ts';
import { changesOf, limited } from '../auth/limits.ts';
import { actorNames, actorOf } from '../auth/members.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { bytesOfForm, TOKEN_FIELD } from '../request/csrf.ts';
import { failureNotice, type Refusal, redirectTo, refuse } from '../request/forms.ts';
import { memberPage, notFoundPage } from '../request/layout.ts';
import {
  type Column,
  endOf,
  type Fact,
  facts,
  type Html,
  html,
  moment,
  sentence,
  table,
} from '../ui/html.ts';
import { filled } from '../ui/states.ts';
import { keySection } from '../usage/calls.ts';
import { creditsOf, loadDailyCalls } from '../usage/daily-calls.ts';
import { keyFields, limitFacts, sentKey } from './key-limits.ts';
import { changeLinks, keyBadges, keyForm, keyName, lastUse } from './key-parts.ts';
import { showKeys } from './keys.ts';

/** GET /dashboard/keys/:id: a key with its use and its secrets, also one that has ended. */
export const showKey = (context: MemberContext): Promise<PageResponse> => keyPage(context, null);

/** @param refusal of a form about the key */
async function keyPage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, tools, id, account, formats } = context;
  const key = await findKey(tools.sql, account.id, id);
  if (key === null) return notFoundPage(context);
  const [secrets, history] = await Promise.all([
    secretsOf(tools.sql, id),
    loadDailyCalls(tools.sql, account, DAYS, id),
  ]);
  const counts = { credits: creditsOf(history.rows), refused: 0 };
  const about: Fact[] = [
    ...(key.connection
      ? await connectionFacts(context)
      : ([[messages.begins, html`<code>${key.start}…</code>`]] as Fact[])),
    [messages.keyId, html`<code>${key.id}</code>`],
    [messages.created, moment(formats, key.created)],
    [messages.lastUsed, lastUse(context, key, counts)],
    ...limitFacts(context, key),
  ];
  const body = html`
<div class="heading"><h1>${keyName(key, messages)}</h1><span>${keyBadges(context, key)}</span></div>
${failureNotice(refusal?.message)}
${facts(about, 'card')}
<p class="actions">${changeLinks(context, key)}</p>
${keySection(context, history, DAYS)}
${secrets.length > 1 && secretsCard(context, secrets)}`;
  return memberPage(context, { title: keyName(key, messages), body, ...refusal });
}

/** The secrets of a key that was rotated. */
function secretsCard(context: MemberContext, secrets: KeySecret[]): Html {
  const { messages, formats, tools, id } = context;
  const isOld = ({ until }: KeySecret) => until !== null && until > new Date();
  const name = (secret: KeySecret) => {
    if (secret.until === null) return messages.currentSecret;
    return isOld(secret) ? messages.oldSecret : messages.endedSecret;
  };
  const columns: Column<KeySecret>[] = [
    [messages.secret, name],
    [messages.worksUntil, ({ until }) => (until === null ? '–' : endOf(formats, until))],
    [messages.lastUsed, (secret) => lastUse(context, secret)],
  ];
  const old = secrets.filter(isOld);
  const isInUse = old.some(({ lastUsed }) => lastUsed !== null && lastUsed.getTime() > Date.now() - DAY);
  const last = Math.max(...old.map(({ until }) => until!.getTime()));
  const question = html`
  <p data-rotated>${old.length > 0 && sentence((end) => filled(messages.states.keyRotated, [end]), endOf(formats, new Date(last)))}</p>
  <p data-old-secret>${isInUse ? messages.oldSecretInUse : messages.oldSecretIdle}</p>
  <p><a class="button small quiet-bad" href="${tools.base}/keys/${id}/end-secret">${messages.endSecret}</a></p>`;
  return html`
<section class="card" aria-labelledby="secrets-title">
  <h2 id="secrets-title">${messages.secrets}</h2>
  ${table(columns, secrets)}
  ${old.length > 0 && question}
</section>`;
}

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

/** To whom a connection was given, and by whom. */
async function connectionFacts(context: MemberContext): Promise<Fact[]> {
  const { messages, tools, id } = context;
  const [connection, nameOf] = await Promise.all([findConnection(tools.sql, id), actorNames(context)]);
  if (connection === null) return [];
  const { clientId, clientName, redirectUri, memberId } = connection;
  return [
    [messages.client, clientHost(clientId) ?? messages.clientUnknown],
    [messages.clientCalls, clientName === '' ? '–' : clientName],
    [messages.clientSendsTo, new URL(redirectUri).host],
    [messages.by, nameOf(`dashboard:${memberId}`)],
  ];
}

/** The choices of the form, in seconds. */
const OVERLAPS_S = [OVERLAP_S.default, (7 * DAY) / SECOND, OVERLAP_S.max, 0];

/**
 * /dashboard/keys/:id/rotate: asks how long the previous secret is to work. A form that is sent twice rotates once, and both
 * answers show the new secret.
 */
export const rotate = keyForm({
  form: ({ messages, formats }, key) => ({
    title: messages.rotateTitle(keyName(key, messages)),
    lead: html`<p>${messages.rotateLead}</p>`,
    fields: [
      {
        name: 'overlap',
        label: messages.overlap,
        options: OVERLAPS_S.map((seconds) => [
          String(seconds),
          seconds === 0 ? messages.overlapNone : formats.duration(seconds * SECOND),
        ]),
      },
    ],
    focus: false,
    button: messages.rotate,
  }),
  async submit(context, key) {
    const { tools, messages, formats, sent, user } = context;
    const overlapS = Number(sent('overlap'));
    if (!OVERLAPS_S.includes(overlapS)) return notFoundPage(context);
    const random = bytesOfForm(tools.secret, sent(TOKEN_FIELD), `rotate ${key.id}`, RANDOM_BYTES);
    const secret = generateSecret(random, key.test);
    try {
      return showKeys(context, null, {
        ...(await rotateKey(tools.sql, key.id, overlapS, actorOf(user), secret)),
        only: key.only,
      });
    } catch (error) {
      const reason =
        error instanceof KeyExistsError ? 'repeated' : error instanceof RotationError && error.reason;
      if (!reason) throw error;
      const text = messages.notRotated[reason];
      const message = typeof text === 'string' ? text : text(formats.number(ROTATIONS_PER_DAY));
      return keyPage(context, refuse(409, { message }));
    }
  },
});

/** /dashboard/keys/:id/change: the name, the last day and the limits of a key, also of one that has expired. */
export const change = keyForm({
  ofConnections: true,
  form: ({ messages }, key) => ({
    title: messages.changeTitle(keyName(key, messages)),
    lead: html`<p>${messages.limitLead}</p>`,
    ...keyFields({ messages }, key),
    focus: false,
    button: messages.save,
  }),
  async submit(context, key) {
    const { tools, messages, formats, user } = context;
    const read = sentKey(context, key);
    if ('refused' in read) return read;
    const { name, expires, limits } = read;
    const { budget, only, requests_per_minute: share } = key;
    const spendable = budget && { credits: budget.credits, per: budget.per };
    const present = { budget: spendable, only, requests_per_minute: share };
    // A test key has no budget, and only a changed share puts a connection of 0.1.0 into the bucket of all connections.
    const changed = {
      only: limits.only,
      ...(!key.test && { budget: limits.budget }),
      ...(limits.requests_per_minute !== share && { requests_per_minute: limits.requests_per_minute }),
    };
    const actor = actorOf(user);
    const changes: [kind: EventKind, write: () => Promise<unknown>][] = [];
    if (expires?.getTime() !== key.expires?.getTime())
      changes.push(['key-expiry-changed', () => expireKey(tools.sql, key.id, expires, actor)]);
    if (!Bun.deepEquals(limits, present))
      changes.push(['key-limited', () => limitKey(tools.sql, key.id, changed, actor)]);
    if (name !== key.name) changes.push(['key-renamed', () => renameKey(tools.sql, key.id, name, actor)]);
    const counted = changes.map(([kind]) => changesOf(user, kind));
    const refusal = await limited(context, counted);
    if (refusal !== null) return refusal;
    try {
      for (const [, write] of changes) await write();
    } catch (error) {
      if (!(error instanceof TooManyKeysError)) throw error;
      return refuse(409, { message: messages.tooManyKeys[error.bound](formats.number(error.limit)) });
    }
    return redirectTo(context, `/keys/${key.id}?done=saved`);
  },
});

/** /dashboard/keys/:id/revoke: asks once more. */
export const revoke = keyForm({
  ofConnections: true,
  form: (context, key) => ({
    title: context.messages[key.connection ? 'connectionEndTitle' : 'revokeTitle'](
      keyName(key, context.messages),
    ),
    lead: html`
<p>${key.connection ? context.messages.connectionEndLead : context.messages.revokeLead(key.start)}</p>
<p>${context.messages.lastUsed}: <strong>${lastUse(context, key)}</strong></p>`,
    button: context.messages[key.connection ? 'connectionEnd' : 'revokeButton'],
    look: 'bad',
  }),
  async submit(context, key) {
    await revokeKey(context.tools.sql, key.id, actorOf(context.user));
    return redirectTo(context, key.connection ? '/keys?done=ended' : '/keys?done=revoked');
  },
});
