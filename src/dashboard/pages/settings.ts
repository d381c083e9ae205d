import { changeLimits } from '../../accounts/changes.ts';
import { actorOf, memberOf, setUsageAlerts } from '../auth/members.ts';
import { passwordRefusal } from '../auth/passwords.ts';
import { changePasswordWith, sendConfirmation } from '../auth/sign-in.ts';
import { type MemberContext, type PageResponse, redirectTo } from '../request/page-context.ts';
import { type Html, html } from '../ui/html.ts';
import { alert, memberPage, notice, token } from '../ui/layout.ts';
import { accountData } from './account-data.ts';
import { newPasswordField, presentPassword, presentPasswordField, type Refusal, tooMany } from './entry.ts';

/** GET /dashboard/settings */
export async function showSettings(context: MemberContext): Promise<PageResponse> {
  return settingsPage(context, null);
}

/** POST /dashboard/settings: a new password, and every other session of the user's ends. */
export async function changePassword(context: MemberContext): Promise<PageResponse> {
  const { messages, fields } = context;
  const next = fields('password');
  const refusal = passwordRefusal(messages, next);
  if (refusal !== null) return settingsPage(context, { message: refusal, status: 422 });
  const outcome = await changePasswordWith(context, { present: presentPassword(context), next });
  if (outcome.isRight) return redirectTo(context, '/settings?done=password', outcome.cookies);
  return settingsPage(context, tooMany(context, outcome) ?? { message: messages.wrongPassword, status: 422 });
}

/** POST /dashboard/confirm/send */
export async function sendConfirmationAgain(context: MemberContext): Promise<PageResponse> {
  const refusal = tooMany(context, await sendConfirmation(context, context.user.email));
  return refusal === null ? redirectTo(context, '/settings?done=sent') : settingsPage(context, refusal);
}

/** POST /dashboard/settings/spending: whether purchased credits are spent. */
export async function changeSpending(context: MemberContext): Promise<PageResponse> {
  const { tools, account, user, fields } = context;
  await changeLimits(tools.sql, account.id, { spendPurchased: fields('on') === 'yes' }, actorOf(user));
  return redirectTo(context, '/settings?done=saved');
}

/** POST /dashboard/settings/alerts: whether this member gets usage alerts. */
export async function changeAlerts(context: MemberContext): Promise<PageResponse> {
  const { tools, user, fields } = context;
  await setUsageAlerts(tools.sql, user.id, fields('on') === 'yes');
  return redirectTo(context, '/settings?done=saved');
}

async function settingsPage(context: MemberContext, refusal: Refusal | null): Promise<PageResponse> {
  const { messages, tools, user, account, url } = context;
  const notices: Record<string, string> = {
    password: messages.passwordSaved,
    sent: messages.confirmSent,
    email: messages.newEmailSent,
    'email-changed': messages.emailChanged,
    saved: messages.saved,
  };
  const member = await memberOf(tools.sql, user.id);
  const asked = url.searchParams.get('done') ?? '';
  const done = Object.hasOwn(notices, asked) ? notices[asked] : null;
  const body = html`
${refusal === null && notice(done)}
<h1>${messages.settingsTitle}</h1>
<dl class="card facts">
  <div><dt>${messages.signedInAs}</dt><dd class="email">${user.email} · <a href="${tools.base}/settings/email" aria-label="${messages.changeEmail}">${messages.change}</a></dd></div>
  <div><dt>${messages.name}</dt><dd class="email">${user.name} · <a href="${tools.base}/settings/name" aria-label="${messages.changeName}">${messages.change}</a></dd></div>
  <div><dt>${messages.accountId}</dt><dd>${account.name} <code>${account.id}</code></dd></div>
  <div><dt>${messages.access}</dt><dd><a href="${tools.base}/settings/members">${messages.members}</a> · <a href="${tools.base}/settings/sessions">${messages.sessions}</a></dd></div>
</dl>
<section class="card narrow" aria-labelledby="password-title">
  <h2 id="password-title">${messages.changePassword}</h2>
  ${alert(refusal?.message ?? null)}
  <form method="post" action="${tools.base}/settings">
    ${token(context)}
    ${presentPasswordField(context)}
    ${newPasswordField(context, messages.newPassword)}
    <button type="submit">${messages.savePassword}</button>
  </form>
</section>
${choice(context, 'spending', messages.spending, account.spendPurchased ? messages.spendingOn : messages.spendingOff, account.spendPurchased)}
${tools.mails && choice(context, 'alerts', messages.alerts, member?.usageAlerts ? messages.alertsOn : messages.alertsOff, member?.usageAlerts === true)}
${accountData(context)}`;
  return memberPage(context, {
    section: '/settings',
    title: messages.settingsTitle,
    body,
    ...refusal,
  });
}

/** A choice that is on or off: what it is now, and the button that changes it. */
function choice(context: MemberContext, name: string, title: string, state: string, isOn: boolean): Html {
  const { messages, tools } = context;
  return html`
<section class="card narrow" aria-labelledby="${name}-title">
  <h2 id="${name}-title">${title}</h2>
  <p>${state}</p>
  <form method="post" action="${tools.base}/settings/${name}" data-choice="${name}">
    ${token(context)}
    <input type="hidden" name="on" value="${isOn ? 'no' : 'yes'}">
    <button class="quiet" type="submit">${isOn ? messages.turnOff : messages.turnOn}</button>
  </form>
</section>`;
}
