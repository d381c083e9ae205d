import { MAX_BALANCE } from '../../accounts/grant.ts';
import { admit, changesOf } from '../auth/limits.ts';
import type { MemberContext, PageContext } from '../auth/page-context.ts';
import { type PageResponse, redirectTo } from '../request/context.ts';
import { emailField, failureNotice, form, formHandlers, tooMany } from '../request/forms.ts';
import { awaitsConfirmation, cardPage, memberPage, ownersOnly } from '../request/layout.ts';
import { html } from '../ui/html.ts';
import { type Column, table } from '../ui/parts.ts';
import {
  ALERT_KINDS,
  addOwnAlert,
  listOwnAlerts,
  MAX_OWN_ALERTS,
  type OwnAlert,
  removeOwnAlert,
} from '../usage/own-alerts.ts';

/** /dashboard/settings/own-alerts: mails to addresses and at thresholds that owners choose. Members see them. */
export const ownAlerts = formHandlers({
  async show(context: MemberContext, refusal) {
    const { messages, formats, tools, account, role } = context;
    const alerts = await listOwnAlerts(tools.sql, account.id);
    const remove = ({ id, email }: OwnAlert) =>
      role === 'owner' &&
      form(context, {
        path: `/settings/own-alerts/${id}/remove`,
        button: messages.removeMember,
        buttonName: `${messages.removeMember}: ${email}`,
        look: 'small quiet-bad',
      });
    const columns: Column<OwnAlert>[] = [
      [messages.email, ({ email }) => email, 'long'],
      [
        messages.alertAt,
        ({ kind, threshold }) => messages.alertWhen[kind](formats.number(threshold)),
        'long',
      ],
      [messages.change, remove, 'end'],
    ];
    const fields = [
      emailField(messages.email, 'off'),
      {
        name: 'kind',
        label: messages.alertAt,
        options: ALERT_KINDS.map((kind): [string, string] => [kind, messages.alertKinds[kind]]),
      },
      { name: 'threshold', label: messages.threshold, maxLength: 13 },
    ];
    const body = html`
<h1>${messages.ownAlerts}</h1>
<p class="lead">${messages.ownAlertsLead}</p>
${alerts.length > 0 && html`<div class="card list">${table(columns, alerts)}</div>`}
${
  role === 'owner' &&
  html`<section class="card narrow" aria-label="${messages.addAlert}">${form(context, { fields, focus: false, button: messages.addAlert, refusal })}</section>`
}`;
    return memberPage(context, { title: messages.ownAlerts, body, ...refusal });
  },
  checks: ['email'],
  async submit(context) {
    const { tools, messages, account, user, sent, formats } = context;
    if (context.role !== 'owner') return ownersOnly(context);
    const kind = ALERT_KINDS.find((kind) => kind === sent('kind')) ?? 'percent';
    const text = sent('threshold').trim();
    const [least, most] = kind === 'percent' ? [1, 100] : [0, MAX_BALANCE];
    const threshold = /^\d+$/.test(text) ? Number(text) : -1;
    if (threshold < least || threshold > most) {
      const fault = messages.thresholdInvalid(formats.number(least), formats.number(most));
      return { faults: { threshold: fault }, status: 422 };
    }
    if (!tools.mails) return { message: messages.alertsNoMail, status: 409 };
    if (awaitsConfirmation(context)) return { message: messages.confirmFirst, status: 403 };
    const refusal = tooMany(context, await admit(tools.sql, changesOf(user, 'limits')));
    if (refusal !== null) return refusal;
    const added = { email: sent('email').trim(), kind, threshold };
    const hasRoom = await addOwnAlert(tools.sql, account.id, added, messages.language);
    if (!hasRoom) return { message: messages.tooManyAlerts(String(MAX_OWN_ALERTS)), status: 409 };
    return redirectTo(context, '/settings/own-alerts?done=saved');
  },
});

/** POST /dashboard/settings/own-alerts/:id/remove */
export async function removeAlert(context: MemberContext): Promise<PageResponse> {
  if (context.role !== 'owner') return ownersOnly(context);
  await removeOwnAlert(context.tools.sql, context.id, context.account.id);
  return redirectTo(context, '/settings/own-alerts?done=saved');
}

/** /dashboard/alerts/:id/stop, the link in an alert's mails: asks first, because programs open links in mails, too. */
export const stopAlert = formHandlers({
  async show(context: PageContext, refusal) {
    const { messages } = context;
    const body = html`${failureNotice(refusal?.message)}${form(context, { button: messages.stopAlert })}`;
    return cardPage(context, { title: messages.stopAlertTitle, lead: messages.stopAlertLead, body });
  },
  async submit(context) {
    await removeOwnAlert(context.tools.sql, context.id);
    return cardPage(context, { title: context.messages.alertStopped });
  },
});
