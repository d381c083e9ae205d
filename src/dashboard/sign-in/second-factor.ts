import encodeQR from 'qr';
import { isFirstUse } from '../auth/limits.ts';
import { recordRepeatable } from '../auth/members.ts';
import { logOfMember } from '../auth/security-log.ts';
import { presentRefusal, sentPassword, signInWithCode } from '../auth/sign-in.ts';
import type { MemberContext, PageContext } from '../page-context.ts';
import { type PageResponse, redirectTo } from '../request/context.ts';
import {
  type Field,
  form,
  formHandlers,
  presentPassword,
  type Refusal,
  refuse,
  tooMany,
} from '../request/forms.ts';
import { cardPage, formPage, memberPage } from '../request/layout.ts';
import { returnPath } from '../request/return-path.ts';
import { type Html, html } from '../ui/html.ts';
import type { Messages } from '../ui/messages.ts';
import { copyable } from '../ui/parts.ts';

const PATH = '/settings/second-factor';

/** /dashboard/sign-in/code: asks for the code of a second factor, after the password. */
export const signInCode = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools, url, sent } = context;
    const to = returnPath(url.searchParams.get('to') ?? sent('to'));
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
    const { messages, sent } = context;
    const outcome = await signInWithCode(context, sent('code'));
    if (outcome === null) return redirectTo(context, '/sign-in?done=code-ended');
    if (outcome.isRight) return redirectTo(context, returnPath(sent('to')), outcome.cookies);
    return tooMany(context, outcome) ?? refuse(401, { faults: { code: messages.codeWrong } });
  },
});

/** GET /dashboard/settings/second-factor */
export async function showSecondFactor(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, user } = context;
  const link = (path: string, label: string) =>
    html`<p><a href="${tools.base}${PATH}/${path}">${label}</a></p>`;
  if (user.hasSecondFactor) {
    const left = String(await tools.auth.backupCodesLeft(user.id));
    return sheet(
      context,
      html`
  <p>${messages.secondFactorOn} ${messages.backupCodesLeft(left)}</p>
  ${link('codes', messages.newBackupCodes)}
  ${link('off', messages.turnOff)}`,
    );
  }
  const isRequired = tools.config.secondFactor === 'owners';
  return sheet(
    context,
    html`
  ${isRequired && html`<p>${messages.secondFactorRequired}</p>`}
  <p>${messages.secondFactorLead}</p>
  ${link('set-up', messages.setUp)}`,
  );
}

function sheet(context: MemberContext, content: Html, refusal: Refusal | null = null): Promise<PageResponse> {
  const title = context.messages.secondFactor;
  const body = html`<section class="card sheet narrow"><h1>${title}</h1>${content}</section>`;
  return memberPage(context, { title, body, ...refusal });
}

type Answer = Awaited<ReturnType<MemberContext['tools']['auth']['call']>>;

/** A form that asks for the password, with which it calls an endpoint of better-auth. */
function passwordForm(
  endpoint: string,
  words: (messages: Messages) => { title: string; lead: string },
  done: (context: MemberContext, answer: Answer) => Promise<PageResponse>,
) {
  return formHandlers({
    show(context: MemberContext, refusal) {
      const { title, lead } = words(context.messages);
      return formPage(context, {
        title,
        lead: html`<p>${lead}</p>`,
        username: context.user.email,
        fields: [presentPassword(context.messages)],
        button: title,
        cancel: PATH,
        refusal,
      });
    },
    async submit(context) {
      const refusal = await presentRefusal(context);
      if (refusal !== null) return refusal;
      const body = { password: sentPassword(context) };
      const answer = await context.tools.auth.call(endpoint, body, context.client);
      return answer.ok ? done(context, answer) : redirectTo(context, PATH);
    },
  });
}

/** /dashboard/settings/second-factor/set-up: makes a new secret and backup codes, which a code then confirms. */
export const setUp = passwordForm(
  '/two-factor/enable',
  ({ setUp, secondFactorLead }) => ({ title: setUp, lead: secondFactorLead }),
  async (context, { totpUri, backupCodes }) => {
    const { messages } = context;
    const secret = new URL(totpUri).searchParams.get('secret') ?? '';
    return sheet(
      context,
      html`
  <p>${messages.scanLead}</p>
  <p>${qrCode(messages.scanLabel, totpUri)}</p>
  <p><a href="${totpUri}">${messages.openApp}</a></p>
  ${copyable(messages, { id: 'secret', label: messages.secretLabel, text: secret })}
  ${backupCodeList(messages, backupCodes)}
  ${confirmForm(context, null)}`,
    );
  },
);

/** /dashboard/settings/second-factor/codes: new backup codes in place of the present ones. */
export const newBackupCodes = passwordForm(
  '/two-factor/generate-backup-codes',
  ({ newBackupCodes, newBackupCodesLead }) => ({ title: newBackupCodes, lead: newBackupCodesLead }),
  async (context, { backupCodes }) => {
    const { messages, tools } = context;
    logOfMember(context, 'backup codes renewed');
    return sheet(
      context,
      html`
  ${backupCodeList(messages, backupCodes)}
  <p><a class="button" href="${tools.base}${PATH}">${messages.backupCodesKept}</a></p>`,
    );
  },
);

/** /dashboard/settings/second-factor/off */
export const turnOff = passwordForm(
  '/two-factor/disable',
  ({ secondFactorOffTitle, secondFactorOffLead }) => ({
    title: secondFactorOffTitle,
    lead: secondFactorOffLead,
  }),
  async (context, { cookies }) => {
    if (context.user.hasSecondFactor) await changed(context, 'off');
    return redirectTo(context, `${PATH}?done=off`, cookies);
  },
);

/** POST /dashboard/settings/second-factor/confirm: turns it on, once a code shows that the app has the secret. */
export const confirmation = formHandlers({
  show: (context: MemberContext, refusal) => sheet(context, confirmForm(context, refusal), refusal),
  async submit(context) {
    const { tools, messages, client, sent, user } = context;
    if (user.hasSecondFactor) return redirectTo(context, PATH);
    const code = sent('code').replace(/\s/g, '');
    const wrong = refuse(422, { faults: { code: messages.codeWrong } });
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

/** Keeps the change, and tells the user by mail: somebody else may have made it. */
async function changed(context: MemberContext, state: 'on' | 'off'): Promise<void> {
  const { tools, messages, user, account } = context;
  await recordRepeatable(tools.sql, account.id, user, `second-factor-${state}`);
  logOfMember(context, `second factor turned ${state}`);
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
