import { lockAccount } from '../../metering/accounts/account-store.ts';
import { recordEvent } from '../../metering/accounts/events.ts';
import { isName } from '../../platform/names.ts';
import { formHandlers, memberForm } from '../auth/form-page.ts';
import { changesOf } from '../auth/limits.ts';
import { actorOf, logOfMember, recordRepeatable, renameAccount } from '../auth/members.ts';
import { passwordChanged, presentRefusal, sentPassword } from '../auth/sign-in.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { networkOf } from '../request/client-address.ts';
import { form, newPassword, presentPassword, type Refusal, redirectTo, refuse } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { type Column, type Fact, facts, type Html, html, moment, table } from '../ui/html.ts';

/** GET /dashboard/settings; POST for a new password, which ends every other session of the user's. */
export const settings = formHandlers({
  show: showSettings,
  checks: ['password'],
  confirm: presentRefusal,
  async submit(context) {
    const { tools, messages, sent, client, user, account } = context;
    const passwords = { currentPassword: sentPassword(context), newPassword: sent('password') };
    const body = { ...passwords, revokeOtherSessions: true };
    const answer = await tools.auth.call('/change-password', body, client);
    // Another request has changed it meanwhile.
    if (!answer.ok) return refuse(422, { faults: { present: messages.wrongPassword } });
    const { id: userId, email } = user;
    await passwordChanged(context, 'password changed', { userId, email, accountId: account.id });
    return redirectTo(context, '/settings?done=new-password', answer.cookies);
  },
});

async function showSettings(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, tools, user, account, role, usageAlerts } = context;
  const link = (path: string, label: string, name?: string) =>
    html`<a href="${tools.base}/settings/${path}"${name !== undefined && html` aria-label="${name}"`}>${label}</a>`;
  const about: Fact[] = [
    [messages.signedInAs, html`${user.email}\u00a0· ${link('email', messages.change, messages.changeEmail)}`],
    [messages.name, html`${user.name}\u00a0· ${link('name', messages.change, messages.changeName)}`],
    [messages.account, html`${account.name} <code>${account.id}</code>`],
    [messages.access, link('members', messages.members)],
    [
      messages.secondFactor,
      html`${messages[user.hasSecondFactor ? 'on' : 'off']}\u00a0· ${link('second-factor', messages.change, `${messages.change}: ${messages.secondFactor}`)}`,
    ],
  ];
  const body = html`
<h1>${messages.settings}</h1>
${facts(about, 'card')}
<div class="halves">
<section class="card" aria-labelledby="password-title">
  <h2 id="password-title">${messages.changePassword}</h2>
  ${form(context, {
    path: '/settings',
    username: user.email,
    fields: [presentPassword(messages), newPassword(messages, messages.newPassword)],
    focus: false,
    button: messages.save,
    refusal,
  })}
</section>
<div>
${
  tools.mailer &&
  html`
<section class="card" aria-labelledby="alerts-title">
  <h2 id="alerts-title">${messages.alerts}</h2>
  <p>${usageAlerts ? messages.alertsOn : messages.alertsOff}</p>
  ${form(context, {
    path: '/settings/alerts',
    hidden: { on: usageAlerts ? 'no' : 'yes' },
    button: usageAlerts ? messages.turnOff : messages.turnOn,
    look: 'quiet',
  })}
</section>`
}
<section class="card" aria-labelledby="data-title">
  <h2 id="data-title">${messages.dataTitle}</h2>
  <p>${link('history', messages.accountHistory)}</p>
  <p><a href="${tools.base}/settings/account.json">${messages.exportAccount}</a></p>
  ${role === 'owner' && html`<p>${link('delete', messages.deleteAccount)}</p>`}
</section>
</div>
</div>
${await sessionsCard(context)}`;
  return memberPage(context, { title: messages.settings, body, ...refusal });
}

/** The browsers in which the member is signed in. */
async function sessionsCard(context: MemberContext): Promise<Html> {
  const { messages, tools, formats, session, client } = context;
  const sessions = await tools.auth.sessions(client.cookie);
  type OwnSession = (typeof sessions)[number];
  const isThis = ({ id }: OwnSession) => id === session.id;
  const browser = (one: OwnSession) => html`
    ${one.userAgent ? browserName(one.userAgent) : messages.unknownBrowser} ${isThis(one) && html`<span class="badge">${messages.thisSession}</span>`}`;
  const columns: Column<OwnSession>[] = [
    [messages.browser, browser],
    [messages.signedInSince, ({ createdAt }) => moment(formats, createdAt)],
    [messages.lastUsed, (one) => (isThis(one) ? messages.now : moment(formats, one.updatedAt))],
    [messages.ipAddress, ({ ipAddress }) => (ipAddress ? html`<code>${networkOf(ipAddress)}</code>` : '–')],
  ];
  return html`
<section class="card" id="sessions" aria-labelledby="sessions-title">
  <div>
    <h2 id="sessions-title">${messages.sessions}</h2>
    <p class="lead">${messages.sessionsLead} ${messages.timesUtc}</p>
  </div>
  ${table(columns, sessions)}
  ${sessions.length > 1 && form(context, { path: '/settings/sessions', button: messages.endSessions, look: 'quiet' })}
</section>`;
}

/** /dashboard/settings/name: the member's name, and for owners that of the account. */
export const names = memberForm({
  page({ messages, user, account, role }) {
    const own = { name: 'name', label: messages.name, value: user.name, hint: messages.nameHint };
    const ofAccount = { label: messages.account, value: account.name, hint: messages.accountNameHint };
    const fields = [
      { ...own, autocomplete: 'organization' },
      ...(role === 'owner' ? [{ name: 'account', ...ofAccount }] : []),
    ];
    const title = messages.changeName;
    return { title, fields, button: messages.save, cancel: '/settings' };
  },
  checks: ['name'],
  faults(context) {
    const { account } = newNames(context);
    return { account: account !== undefined && !isName(account) && context.messages.nameInvalid };
  },
  limit(context) {
    const { name, account } = newNames(context);
    const kinds = [name !== undefined && 'name-changed', account !== undefined && 'account-renamed'] as const;
    return kinds.filter((kind) => kind !== false).map((kind) => changesOf(context.user, kind));
  },
  async submit(context) {
    const { tools, user, account } = context;
    const { name, account: accountName } = newNames(context);
    if (name !== undefined)
      await tools.sql.begin(async (sql) => {
        await lockAccount(sql, account.id);
        await sql`UPDATE dashboard_users SET "name" = ${name}, "updatedAt" = now() WHERE "id" = ${user.id}`;
        await recordEvent(sql, account.id, { kind: 'name-changed', actor: actorOf(user) });
      });
    if (accountName !== undefined) await renameAccount(tools.sql, account.id, accountName, actorOf(user));
    return redirectTo(context, '/settings?done=saved');
  },
});

/** The names of a sent form that are not those that stand. */
function newNames({ sent, user, account, role }: MemberContext): { name?: string; account?: string } {
  const [name, ofAccount] = [sent('name').trim(), sent('account').trim()];
  return {
    ...(name !== user.name && { name }),
    ...(role === 'owner' && ofAccount !== account.name && { account: ofAccount }),
  };
}

/** POST /dashboard/settings/sessions: signs the member out everywhere else. */
export async function signOutOthers(context: MemberContext): Promise<PageResponse> {
  const { tools, user, account, client } = context;
  // A form that is sent again ends none, which is no event of the account.
  const hasOthers = (await tools.auth.sessions(client.cookie)).length > 1;
  const { ok } = await tools.auth.call('/revoke-other-sessions', {}, client);
  // This session has ended meanwhile, so it has ended no other one.
  if (!ok) return redirectTo(context, '/settings');
  if (hasOthers) await recordRepeatable(tools.sql, account.id, user, 'sessions-ended');
  logOfMember(context, 'other sessions ended');
  return redirectTo(context, '/settings?done=ended');
}

/** POST /dashboard/settings/alerts: whether this member gets usage alerts. */
export async function changeAlerts(context: MemberContext): Promise<PageResponse> {
  const { tools, user, sent } = context;
  await tools.sql`UPDATE dashboard_members SET usage_alerts = ${sent('on') === 'yes'} WHERE user_id = ${user.id}`;
  return redirectTo(context, '/settings?done=saved');
}

/** Browsers by their `User-Agent`. Edge also names Chrome and Safari, and Chrome also names Safari, so the order matters. */
const BROWSERS: [pattern: RegExp, name: string][] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
/** Systems. Android also names Linux, and an iPhone also names Mac OS X. */
const SYSTEMS: [pattern: RegExp, name: string][] = [
  [/\biP(?:hone|ad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];
const MAX_LENGTH = 40;

/** A short name of a `User-Agent`, such as `Firefox, Windows`; the beginning of an unknown one. */
export function browserName(userAgent: string): string {
  const find = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const names = [find(BROWSERS), find(SYSTEMS)].filter(Boolean);
  return names.length > 0 ? names.join(', ') : userAgent.slice(0, MAX_LENGTH);
}
