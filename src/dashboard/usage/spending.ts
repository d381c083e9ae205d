import { changeLimits } from '../../metering/accounts/changes.ts';
import { changesOf, countAttempt } from '../auth/limits.ts';
import { actorOf } from '../auth/members.ts';
import type { MemberContext } from '../page-context.ts';
import { redirectTo } from '../request/context.ts';
import { formHandlers, tooMany } from '../request/forms.ts';
import { formPage } from '../request/layout.ts';
import { html } from '../ui/html.ts';

/**
 * /dashboard/credits/spending: whether purchased credits are spent. It asks first, because turning it off stops the calls of an
 * account that has used its allowance.
 */
export const spending = formHandlers({
  show(context: MemberContext, refusal) {
    const { messages, account, formats } = context;
    const isOn = account.spendPurchased;
    const stopsCalls = isOn && account.used >= account.includedCredits;
    return formPage(context, {
      title: messages.spending,
      lead: html`
<p>${isOn ? messages.spendingOn : messages.spendingOff}</p>
${stopsCalls && html`<p class="notice bad">${messages.spendingStops(formats.instant(account.period.end))}</p>`}`,
      hidden: { on: isOn ? 'no' : 'yes' },
      button: isOn ? messages.turnOff : messages.turnOn,
      ...(stopsCalls && { look: 'bad' }),
      cancel: '/credits',
      refusal,
    });
  },
  async submit(context) {
    const { tools, account, user, sent } = context;
    const spendPurchased = sent('on') === 'yes';
    if (spendPurchased !== account.spendPurchased) {
      const refusal = tooMany(context, await countAttempt(tools.sql, changesOf(user, 'limits')));
      if (refusal !== null) return refusal;
      await changeLimits(tools.sql, account.id, { spendPurchased }, actorOf(user));
    }
    return redirectTo(context, '/credits?done=saved');
  },
});
