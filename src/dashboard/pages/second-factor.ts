import encodeQR from 'qr';
import { isFirstUse } from '../auth/limits.ts';
import { recordRepeatable } from '../auth/members.ts';
import type { MemberContext, PageContext } from '../auth/page-context.ts';
import { logSecurity } from '../auth/security-log.ts';
import { presentRefusal, sentPassword, signInWithCode } from '../auth/sign-in.ts';
import { type PageResponse, redirectTo } from '../request/context.ts';
import { type Field, form, formHandlers, presentPassword, type Refusal, tooMany } from '../request/forms.ts';
import { cardPage, formPage, memberPage } from '../request/layout.ts';
import { returnPath } from '../request/return-path.ts';
import { type Html, html } from '../ui/html.ts';
import type { Messages } from '../ui/messages.ts';
import { copyable } from '../ui/parts.ts';

const PATH = '/settings/second-factor';

/** /dashboard/sign-in/code: asks for the code of a second factor, after the password. */
export const signInCode = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools, url, fields } = context;
    const to = returnPath(url.searchParams.get('to') ?? fields('to'));
    const options = { path: '/sign-in/code', hidden: { to }, button: messages.signIn, refusal };
    return cardPage(context, {
      title: messages.codeTitle,
      body: form(context, {
        ...options,
        fields: [{ ...codeField(messages), hint: messages.codeOrBackupHint }],
      }),
      after: html`<a href="${tools.base}/sign-in?again=yes">${messages.codeStartAgain}</a>`,
      ...refusal,
    });
  },
  async submit(context) {
    const { messages, fields } = context;
    const outcome = await signInWithCode(context, fields('code'));
    if (outcome === null) return redirectTo(context, '/sign-in?done=code-ended');
    if (outcome.isRight) return redirectTo(context, returnPath(fields('to')), outcome.cookies);
    return tooMany(context, outcome) ?? { faults: { code: messages.codeWrong }, status: 401 };
  },
});

/** /dashboard/settings/second-factor: a POST with the password makes a new secret, which a code then confirms. */
export const secondFactor = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, tools, user } = context;
    const title = messages.secondFactor;
    if (!user.hasSecondFactor) {
      return formPage(context, {
        title,
        lead: html`${tools.config.secondFactor === 'owners' && html`<p>${messages.secondFactorRequired}</p>`}<p>${messages.secondFactorLead}</p>`,
        username: user.email,
        fields: [presentPassword(messages)],
        button: messages.setUp,
        cancel: '/settings',
        refusal,
      });
    }
    const left = String(await tools.auth.backupCodesLeft(user.id));
    const link = (path: string, label: string) =>
      html`<p><a href="${tools.base}${PATH}/${path}">${label}</a></p>`;
    const body = html`
<section class="card sheet narrow">
  <h1>${title}</h1>
  <p>${messages.secondFactorOn} ${messages.backupCodesLeft(left)}</p>
  ${link('codes', messages.newBackupCodes)}
  ${link('off', messages.turnOff)}
</section>`;
    return memberPage(context, { title, body, ...refusal });
  },
  async submit(context) {
    const { tools, client } = context;
    const refusal = await presentRefusal(context);
    if (refusal !== null) return refusal;
    const answer = await tools.auth.call('/two-factor/enable', { password: sentPassword(context) }, client);
    return answer.ok ? setUpPage(context, answer) : redirectTo(context, PATH);
  },
});

/** The page with the new secret and the backup codes, which are shown only this once. */
function setUpPage(
  context: MemberContext,
  { totpUri, backupCodes }: { totpUri: string; backupCodes: string[] },
): Promise<PageResponse> {
  const { messages } = context;
  const secret = new URL(totpUri).searchParams.get('secret') ?? '';
  const body = html`
<section class="card sheet narrow">
  <h1>${messages.secondFactor}</h1>
  <p>${messages.scanLead}</p>
  <p>${qrCode(messages.scanLabel, totpUri)}</p>
  <p><a href="${totpUri}">${messages.openApp}</a></p>
  ${copyable(messages, { id: 'secret', label: messages.secretLabel, text: secret })}
  ${backupCodeList(messages, backupCodes)}
  ${confirmForm(context, null)}
</section>`;
  return memberPage(context, { title: messages.secondFactor, body });
}

/** POST /dashboard/settings/second-factor/confirm: turns it on, once a code shows that the app has the secret. */
export const confirmation = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, tools } = context;
    const body = html`
<section class="card sheet narrow">
  <h1>${messages.secondFactor}</h1>
  ${confirmForm(context, refusal)}
  <p><a href="${tools.base}${PATH}">${messages.codeStartAgain}</a></p>
</section>`;
    return memberPage(context, { title: messages.secondFactor, body, ...refusal });
  },
  async submit(context) {
    const { tools, messages, client, fields, user } = context;
    if (user.hasSecondFactor) return redirectTo(context, PATH);
    const code = fields('code').replace(/\s/g, '');
    const wrong = { faults: { code: messages.codeWrong }, status: 422 };
    if (!(await isFirstUse(tools.sql, user.id, code))) return wrong;
    const answer = await tools.auth.call('/two-factor/verify-totp', { code }, client);
    if (!answer.ok) return wrong;
    await changed(context, 'on');
    return redirectTo(context, `${PATH}?done=on`, answer.cookies);
  },
});

function confirmForm(context: MemberContext, refusal: Refusal | null): Html {
  const { messages } = context;
  const fields = [{ ...codeField(messages), hint: messages.codeHint }];
  return form(context, { path: `${PATH}/confirm`, fields, focus: false, button: messages.turnOn, refusal });
}

/** /dashboard/settings/second-factor/codes: new backup codes in place of the present ones. */
export const backupCodes = formHandlers({
  show: (context: MemberContext, refusal) =>
    passwordPage(context, refusal, context.messages.newBackupCodes, context.messages.newBackupCodesLead),
  async submit(context) {
    const { tools, messages, client, user, account } = context;
    const refusal = await presentRefusal(context);
    if (refusal !== null) return refusal;
    const password = sentPassword(context);
    const answer = await tools.auth.call('/two-factor/generate-backup-codes', { password }, client);
    if (!answer.ok) return redirectTo(context, PATH);
    logSecurity(context, 'backup codes renewed', { userId: user.id, accountId: account.id });
    const title = messages.newBackupCodes;
    const body = html`
<section class="card sheet narrow">
  <h1>${title}</h1>
  ${backupCodeList(messages, answer.backupCodes)}
  <p><a class="button" href="${tools.base}${PATH}">${messages.backupCodesKept}</a></p>
</section>`;
    return memberPage(context, { title, body });
  },
});

/** /dashboard/settings/second-factor/off */
export const turnOff = formHandlers({
  show: (context: MemberContext, refusal) =>
    passwordPage(
      context,
      refusal,
      context.messages.secondFactorOffTitle,
      context.messages.secondFactorOffLead,
    ),
  async submit(context) {
    const { tools, client } = context;
    const refusal = await presentRefusal(context);
    if (refusal !== null) return refusal;
    const answer = await tools.auth.call('/two-factor/disable', { password: sentPassword(context) }, client);
    if (answer.ok && context.user.hasSecondFactor) await changed(context, 'off');
    return redirectTo(context, `${PATH}?done=off`, answer.cookies);
  },
});

function passwordPage(
  context: MemberContext,
  refusal: Refusal | null,
  title: string,
  lead: string,
): Promise<PageResponse> {
  const { messages, user } = context;
  const fields = [presentPassword(messages)];
  const options = { fields, username: user.email, button: title, cancel: PATH, refusal };
  return formPage(context, { title, lead: html`<p>${lead}</p>`, ...options });
}

/** Keeps the change, and tells the user by mail: somebody else may have made it. */
async function changed(context: MemberContext, state: 'on' | 'off'): Promise<void> {
  const { tools, messages, user, account } = context;
  await recordRepeatable(tools.sql, account.id, user, `second-factor-${state}`);
  logSecurity(context, `second factor turned ${state}`, { userId: user.id, accountId: account.id });
  const url = `${tools.publicUrl}/dashboard${PATH}`;
  if (user.emailVerified)
    tools.mailer?.send({ kind: `second-factor-${state}`, to: user.email, url, language: messages.language });
}

function codeField(messages: Messages): Field {
  return { name: 'code', label: messages.code, autocomplete: 'one-time-code', maxLength: 20 };
}

function backupCodeList(messages: Messages, codes: string[]): Html {
  return html`
<h2>${messages.backupCodes}</h2>
<p>${messages.backupCodesLead}</p>
${copyable(messages, { id: 'backup-codes', label: messages.backupCodes, text: codes.join('\n') })}`;
}

/** Dark on light in both themes, because apps read no other. Its quiet zone is four modules wide. */
function qrCode(label: string, text: string): Html {
  const rows = encodeQR(text, 'raw', { border: 4 });
  const path = rows
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  const size = rows.length;
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" width="240" height="240"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" shape-rendering="crispEdges" d="${path}"/></svg>`;
}
