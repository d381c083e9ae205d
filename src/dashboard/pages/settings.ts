import { changeLimits } from '../../accounts/changes.ts';
import { actorOf, memberOf, setUsageAlerts } from '../auth/members.ts';
import { passwordRefusal } from '../auth/passwords.ts';
import { changePasswordWith, sendConfirmation } from '../auth/sign-in.ts';
import { type MemberVisit, type Reply, redirectTo } from '../request/visit.ts';
import { type Html, html } from '../ui/html.ts';
import { alert, memberPage, notice, token } from '../ui/layout.ts';
import { accountData } from './account-data.ts';
import { newPasswordField, presentPassword, presentPasswordField, type Refusal, tooMany } from './entry.ts';

/** GET /dashboard/settings */
export async function showSettings(visit: MemberVisit): Promise<Reply> {
  return settingsPage(visit, null);
}

/** POST /dashboard/settings: a new password, and every other session of the user's ends. */
export async function changePassword(visit: MemberVisit): Promise<Reply> {
  const { texts, fields } = visit;
  const next = fields('password');
  const refusal = passwordRefusal(texts, next);
  if (refusal !== null) return settingsPage(visit, { message: refusal, status: 422 });
  const outcome = await changePasswordWith(visit, { present: presentPassword(visit), next });
  if (outcome.isRight) return redirectTo(visit, '/settings?done=password', outcome.cookies);
  return settingsPage(visit, tooMany(visit, outcome) ?? { message: texts.wrongPassword, status: 422 });
}

/** POST /dashboard/confirm/send */
export async function sendConfirmationAgain(visit: MemberVisit): Promise<Reply> {
  const refusal = tooMany(visit, await sendConfirmation(visit, visit.user.email));
  return refusal === null ? redirectTo(visit, '/settings?done=sent') : settingsPage(visit, refusal);
}

/** POST /dashboard/settings/spending: whether purchased credits are spent. */
export async function changeSpending(visit: MemberVisit): Promise<Reply> {
  const { tools, account, user, fields } = visit;
  await changeLimits(tools.sql, account.id, { spendPurchased: fields('on') === 'yes' }, actorOf(user));
  return redirectTo(visit, '/settings?done=saved');
}

/** POST /dashboard/settings/alerts: whether this member gets usage alerts. */
export async function changeAlerts(visit: MemberVisit): Promise<Reply> {
  const { tools, user, fields } = visit;
  await setUsageAlerts(tools.sql, user.id, fields('on') === 'yes');
  return redirectTo(visit, '/settings?done=saved');
}

async function settingsPage(visit: MemberVisit, refusal: Refusal | null): Promise<Reply> {
  const { texts, tools, user, account, url } = visit;
  const notices: Record<string, string> = {
    password: texts.passwordSaved,
    sent: texts.confirmSent,
    email: texts.newEmailSent,
    'email-changed': texts.emailChanged,
    saved: texts.saved,
  };
  const member = await memberOf(tools.sql, user.id);
  const asked = url.searchParams.get('done') ?? '';
  const done = Object.hasOwn(notices, asked) ? notices[asked] : null;
  const body = html`
${refusal === null && notice(done)}
<h1>${texts.settingsTitle}</h1>
<dl class="card facts">
  <div><dt>${texts.signedInAs}</dt><dd class="email">${user.email} · <a href="${tools.base}/settings/email" aria-label="${texts.changeEmail}">${texts.change}</a></dd></div>
  <div><dt>${texts.name}</dt><dd class="email">${user.name} · <a href="${tools.base}/settings/name" aria-label="${texts.changeName}">${texts.change}</a></dd></div>
  <div><dt>${texts.accountId}</dt><dd>${account.name} <code>${account.id}</code></dd></div>
  <div><dt>${texts.access}</dt><dd><a href="${tools.base}/settings/members">${texts.members}</a> · <a href="${tools.base}/settings/sessions">${texts.sessions}</a></dd></div>
</dl>
<section class="card narrow" aria-labelledby="password-title">
  <h2 id="password-title">${texts.changePassword}</h2>
  ${alert(refusal?.message ?? null)}
  <form method="post" action="${tools.base}/settings">
    ${token(visit)}
    ${presentPasswordField(visit)}
    ${newPasswordField(visit, texts.newPassword)}
    <button type="submit">${texts.savePassword}</button>
  </form>
</section>
${choice(visit, 'spending', texts.spending, account.spendPurchased ? texts.spendingOn : texts.spendingOff, account.spendPurchased)}
${tools.mails && choice(visit, 'alerts', texts.alerts, member?.usageAlerts ? texts.alertsOn : texts.alertsOff, member?.usageAlerts === true)}
${accountData(visit)}`;
  return memberPage(visit, {
    section: '/settings',
    title: texts.settingsTitle,
    body,
    ...refusal,
  });
}

/** A choice that is on or off: what it is now, and the button that changes it. */
function choice(visit: MemberVisit, name: string, title: string, state: string, isOn: boolean): Html {
  const { texts, tools } = visit;
  return html`
<section class="card narrow" aria-labelledby="${name}-title">
  <h2 id="${name}-title">${title}</h2>
  <p>${state}</p>
  <form method="post" action="${tools.base}/settings/${name}" data-choice="${name}">
    ${token(visit)}
    <input type="hidden" name="on" value="${isOn ? 'no' : 'yes'}">
    <button class="quiet" type="submit">${isOn ? texts.turnOff : texts.turnOn}</button>
  </form>
</section>`;
}
