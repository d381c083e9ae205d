import { PASSWORD } from '../fields.ts';
import { html } from '../html.ts';
import { passwordRefusal } from '../passwords.ts';
import { changePasswordWith, sendConfirmation } from '../sign-in.ts';
import { type MemberVisit, type Reply, redirectTo } from '../visit.ts';
import { newPasswordField, type Refusal, tooMany } from './entry.ts';
import { alert, field, memberPage, notice, token } from './layout.ts';

/** GET /dashboard/settings */
export async function showSettings(visit: MemberVisit): Promise<Reply> {
  return settingsPage(visit, null);
}

/** POST /dashboard/settings: a new password, and every other session of the user's ends. */
export async function changePassword(visit: MemberVisit): Promise<Reply> {
  const { texts, fields } = visit;
  const present = fields('present').slice(0, PASSWORD.max);
  const next = fields('password');
  const refusal = passwordRefusal(texts, next);
  if (refusal !== null) return settingsPage(visit, { message: refusal, status: 422 });
  const outcome = await changePasswordWith(visit, { present, next });
  if (outcome.isRight) return redirectTo(visit, '/settings?done=password', outcome.cookies);
  return settingsPage(visit, tooMany(visit, outcome) ?? { message: texts.wrongPassword, status: 422 });
}

/** POST /dashboard/confirm/send */
export async function sendConfirmationAgain(visit: MemberVisit): Promise<Reply> {
  const refusal = tooMany(visit, await sendConfirmation(visit, visit.user.email));
  return refusal === null ? redirectTo(visit, '/settings?done=sent') : settingsPage(visit, refusal);
}

async function settingsPage(visit: MemberVisit, refusal: Refusal | null): Promise<Reply> {
  const { texts, tools, user, account, url } = visit;
  const notices: Record<string, string> = { password: texts.passwordSaved, sent: texts.confirmSent };
  const asked = url.searchParams.get('done') ?? '';
  const done = Object.hasOwn(notices, asked) ? notices[asked] : null;
  const body = html`
${refusal === null && notice(done)}
<h1>${texts.settingsTitle}</h1>
<dl class="card facts">
  <div><dt>${texts.signedInAs}</dt><dd>${user.email}</dd></div>
  <div><dt>${texts.name}</dt><dd>${user.name}</dd></div>
  <div><dt>${texts.accountId}</dt><dd>${account.name} <code>${account.id}</code></dd></div>
</dl>
<section class="card narrow" aria-labelledby="password-title">
  <h2 id="password-title">${texts.changePassword}</h2>
  ${alert(refusal?.message ?? null)}
  <form method="post" action="${tools.base}/settings">
    ${token(visit)}
    <input class="unseen" type="email" name="username" value="${user.email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
    ${field({ name: 'present', label: texts.presentPassword, type: 'password', autocomplete: 'current-password', maxLength: PASSWORD.max })}
    ${newPasswordField(visit, texts.newPassword)}
    <button type="submit">${texts.savePassword}</button>
  </form>
</section>`;
  return memberPage(visit, {
    section: '/settings',
    title: texts.settingsTitle,
    body,
    ...(refusal !== null && { status: refusal.status, headers: refusal.headers ?? {} }),
  });
}
