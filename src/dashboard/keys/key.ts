import { clientHost } from '../../metering/connections/clients.ts';
import { findConnection } from '../../metering/connections/connection-store.ts';
import { endPreviousSecrets } from '../../metering/keys/expire.ts';
import { DAYS, type KeySecret, secretsOf } from '../../metering/keys/key-details.ts';
import { findKey } from '../../metering/keys/key-list.ts';
import { DAY } from '../../platform/units.ts';
import { actorNames, actorOf } from '../auth/members.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { failureNotice, type Refusal, redirectTo } from '../request/forms.ts';
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
import { limitFacts } from './key-limits.ts';
import { changeLinks, keyBadges, keyForm, keyName, lastUse } from './key-parts.ts';

/** GET /dashboard/keys/:id: a key with its use and its secrets, also one that has ended. */
export const showKey = (context: MemberContext): Promise<PageResponse> => keyPage(context, null);

/** @param refusal of a form about the key */
export async function keyPage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
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
