import encodeQR from 'qr';
import { readCode } from '../auth/codes.ts';
import { formHandlers, memberForm } from '../auth/form-page.ts';
import { codesOf, isFirstUse, limited } from '../auth/limits.ts';
import { type Plain, tell } from '../auth/mail-text.ts';
import { logOfMember, recordRepeatable } from '../auth/members.ts';
import { giveCode, sentPassword, signInWithCode } from '../auth/sign-in.ts';
import type { MemberContext, PageContext, PageResponse } from '../context.ts';
import type { Messages } from '../messages.ts';
import { type Field, form, type Refusal, redirectTo, refuse, tooMany } from '../request/forms.ts';
import { cardPage, sheet } from '../request/layout.ts';
import { returnPath } from '../request/return-path.ts';
import { contactLink, copyable, type Html, html } from '../ui/html.ts';

const PATH = '/settings/second-factor';

/** As better-auth makes it: nothing else becomes a link. */
const URI_SHAPE = /^otpauth:\/\/totp\/[!-~]{1,1000}$/;

/** /dashboard/sign-in/code: asks for the code of a second factor, after the password. */
export const signInCode = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages, tools, url, sent } = context;
    const contact = contactLink(context);
    return cardPage(context, {
      title: messages.codeTitle,
      body: html`
${form(context, {
  path: '/sign-in/code',
  hidden: { to: returnPath(url.searchParams.get('to') ?? sent('to')) },
  fields: [codeField(messages, messages.codeOrBackupHint)],
  button: messages.signIn,
  refusal,
})}
${contact && html`<p class="aside hint">${contact}</p>`}`,
      after: html`<a href="${tools.base}/sign-in?again=yes">${messages.codeStartAgain}</a>`,
      ...refusal,
    });
  },
  async submit(context) {
    const { sent } = context;
    const outcome = await signInWithCode(context, sent('code'));
    if (outcome === null) return redirectTo(context, '/sign-in?done=code-ended');
    if (outcome.isRight) return redirectTo(context, returnPath(sent('to')), outcome.cookies);
    return tooMany(context, outcome.retryAfterS) ?? wrongCode(context, 401);
  },
});

const wrongCode = ({ messages }: PageContext, status: number) =>
  refuse(status, { faults: { code: messages.codeWrong } });

/** Shows the second factor of the member, or the form that sets it up if it is off. */
async function showSecondFactor(context: MemberContext): Promise<PageResponse> {
  const { messages, tools, user } = context;
  const link = (path: string, label: string) =>
    html`<p><a href="${tools.base}${PATH}/${path}">${label}</a></p>`;
  if (!user.hasSecondFactor) return setUp.GET(context);
  return sheet(
    context,
    { title: messages.secondFactor },
    html`
  <p>${messages.secondFactorOn} ${messages.backupCodesLeft(String(await tools.auth.backupCodesLeft(user.id)))}</p>
  ${link('codes', messages.newBackupCodes)}
  ${link('off', messages.turnOff)}`,
  );
}

type Answer = Awaited<ReturnType<MemberContext['tools']['auth']['call']>>;

/** A form that calls an endpoint of better-auth with the password. @param wantsCode whether it asks for a code, too */
const passwordForm = (
  endpoint: string,
  [title, lead]: [title: Plain, lead: Plain],
  done: (context: MemberContext, answer: Answer) => Promise<PageResponse>,
  wantsCode = true,
) =>
  memberForm({
    password: true,
    page({ messages, tools, user }) {
      const button = messages[title];
      const cancel = wantsCode ? PATH : '/settings';
      const fields = wantsCode ? [codeField(messages, messages.codeOrBackupHint)] : [];
      const mustSetUp = tools.config.secondFactor === 'owners' && !user.hasSecondFactor;
      const required = mustSetUp && html`<p>${messages.secondFactorRequired}</p>`;
      return { title: button, lead: html`${required}<p>${messages[lead]}</p>`, fields, button, cancel };
    },
    async submit(context) {
      const refusal = wantsCode && context.user.hasSecondFactor ? await codeRefusal(context) : null;
      if (refusal !== null) return refusal;
      const body = { password: sentPassword(context) };
      const answer = await context.tools.auth.call(endpoint, body, context.client);
      return answer.ok ? done(context, answer) : redirectTo(context, PATH);
    },
  });

/** Makes a new secret and backup codes, which a code then confirms. */
const setUp = passwordForm(
  '/two-factor/enable',
  ['setUp', 'secondFactorLead'],
  async (context, answer) => setUpSheet(context, answer, null),
  false,
);

/** /dashboard/settings/second-factor */
export const secondFactor = { GET: showSecondFactor, POST: setUp.POST };

/** The secret and the backup codes, which are shown until a right code turns the second factor on. */
function setUpSheet(
  context: MemberContext,
  { totpUri, backupCodes }: Pick<Answer, 'totpUri' | 'backupCodes'>,
  refusal: Refusal | null,
): Promise<PageResponse> {
  const { messages } = context;
  const secret = new URL(totpUri).searchParams.get('secret') ?? '';
  const confirmForm = form(context, {
    path: `${PATH}/confirm`,
    back: PATH,
    // A wrong code comes back with them, because they are stored in no form that could be shown again.
    hidden: { uri: totpUri, codes: backupCodes.join(' ') },
    fields: [{ ...codeField(messages, messages.codeHint), inputMode: 'numeric' }],
    focus: false,
    button: messages.turnOn,
    refusal,
  });
  const content = html`
  <p>${messages.scanLead}</p>
  <p>${qrCode(messages.scanLabel, totpUri)}</p>
  <p><a href="${totpUri}">${messages.openApp}</a></p>
  ${copyable(messages, { id: 'secret', label: messages.secretLabel, text: secret })}
  ${backupCodeList(context, backupCodes)}
  ${confirmForm}`;
  return sheet(context, { title: messages.secondFactor, ...refusal }, content);
}

/** /dashboard/settings/second-factor/codes: new backup codes in place of the present ones. One of them could turn it off. */
export const newBackupCodes = passwordForm(
  '/two-factor/generate-backup-codes',
  ['newBackupCodes', 'newBackupCodesLead'],
  async (context, { backupCodes }) => {
    const { messages, tools } = context;
    logOfMember(context, 'backup codes renewed');
    tellOf(context, 'backup-codes');
    return sheet(
      context,
      { title: messages.secondFactor },
      html`
  ${backupCodeList(context, backupCodes)}
  <p><a class="button" href="${tools.base}${PATH}">${messages.backupCodesKept}</a></p>`,
    );
  },
);

/** /dashboard/settings/second-factor/off */
export const turnOff = passwordForm(
  '/two-factor/disable',
  ['secondFactorOffTitle', 'secondFactorOffLead'],
  async (context, { cookies }) => {
    if (context.user.hasSecondFactor) await changed(context, 'off');
    return redirectTo(context, '/settings?done=off', cookies);
  },
);

/** Checks the code that a signed-in user gives. Few are taken in a day, because a guess here is not one of a sign-in. */
async function codeRefusal(context: MemberContext): Promise<Refusal | null> {
  const { sent, user } = context;
  const early = await limited(context, [codesOf(user)]);
  if (early !== null) return early;
  const answer = await giveCode(context, user.id, sent('code'), context.client);
  if (answer?.ok === true) return null;
  logOfMember(context, 'code check failed');
  return wrongCode(context, 422);
}

/** POST /dashboard/settings/second-factor/confirm: turns it on, once a code shows that the app has the secret. */
export const confirmation = formHandlers({
  show(context: MemberContext, refusal) {
    const { sent } = context;
    return setUpSheet(context, { totpUri: sent('uri'), backupCodes: sent('codes').split(' ') }, refusal);
  },
  async submit(context) {
    const { tools, client, sent, user } = context;
    if (user.hasSecondFactor || !URI_SHAPE.test(sent('uri'))) return redirectTo(context, PATH);
    const { code } = readCode(sent('code'));
    const wrong = wrongCode(context, 422);
    if (!(await isFirstUse(tools.sql, user.id, code))) return wrong;
    const answer = await tools.auth.call('/two-factor/verify-totp', { code }, client);
    if (!answer.ok) return wrong;
    await changed(context, 'on');
    return redirectTo(context, `${PATH}?done=on`, answer.cookies);
  },
});

/** Keeps the change, and tells the user by mail: somebody else may have made it. */
async function changed(context: MemberContext, state: 'on' | 'off'): Promise<void> {
  const { tools, user, account } = context;
  await recordRepeatable(tools.sql, account.id, user, `second-factor-${state}`);
  logOfMember(context, `second factor turned ${state}`);
  tellOf(context, `second-factor-${state}`);
}

function tellOf(context: MemberContext, mail: `second-factor-${'on' | 'off'}` | 'backup-codes'): void {
  tell(context, context.user.email, mail, PATH);
}

function codeField(messages: Messages, hint: string): Field {
  return { name: 'code', label: messages.code, hint, autocomplete: 'one-time-code', maxLength: 20 };
}

/** The codes, to copy or download. */
function backupCodeList({ messages, tools, user }: MemberContext, codes: string[]): Html {
  const text = codes.join('\n');
  const about = `${messages.brand}: ${messages.backupCodes}\n${tools.publicUrl}/dashboard\n${user.email}`;
  const file = Buffer.from(`${about}\n\n${text}\n`).toString('base64');
  return html`
<section class="backup-codes">
  <h2>${messages.backupCodes}</h2>
  <p>${messages.backupCodesLead}</p>
  ${copyable(messages, { id: 'backup-codes', label: messages.backupCodes, text })}
  <p><a class="button small quiet" href="data:text/plain;charset=utf-8;base64,${file}" download="${messages.backupCodesFile}">${messages.download}</a></p>
</section>`;
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
