import { debtsRoute } from '../../companies/debts/screen/route.ts';
import type { Answer } from '../../http/answer.ts';
import type { MemberContext } from '../page-context.ts';
import type { PageResponse } from '../request/context.ts';
import { failureNotice, formHandlers, type Refusal, refuse, tokenField } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { type Html, html } from '../ui/html.ts';
import { availableCredits } from '../usage/credits.ts';
import { callRefusal, makeOwnCall } from './own-call.ts';
import { screenedList } from './screen-answer.ts';
import { type NifList, readNifList } from './screen-list.ts';

/** Companies in one list: as many as POST /debts takes. */
const MAX_COMPANIES = 1000;

/**
 * GET and POST /dashboard/screen: a list of companies against both lists of debtors, by the same pipeline as a call with a key.
 * A first POST reads the list and says what it costs, a second one screens it. Nothing of the list is stored.
 */
export const screen = formHandlers({
  show: showScreen,
  async submit(context: MemberContext) {
    const { tools, messages, sent } = context;
    const refusal = callRefusal(context);
    if (refusal !== null) return refusal;
    const list = readNifList(sent('list'));
    const count = list.nifs.length;
    if (count === 0) return refuse(422, { faults: { list: messages.screenNone } });
    if (count > MAX_COMPANIES) {
      return refuse(422, { faults: { list: messages.screenTooMany(String(count), String(MAX_COMPANIES)) } });
    }
    // The member has seen this price. A list that was changed since is shown again.
    if (sent('price') !== String(count)) return showScreen(context, null, { list });
    const request = new Request(`${tools.publicUrl}/api/v1/debts`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ nifs: list.nifs }),
    });
    const called = await makeOwnCall(context, request, debtsRoute);
    return 'refused' in called ? called : showScreen(called.fresh, null, { list, answer: called.answer });
  },
});

async function showScreen(
  context: MemberContext,
  refusal: Refusal | null,
  { list, answer }: { list?: NifList; answer?: Answer } = {},
): Promise<PageResponse> {
  const { messages, formats, tools, sent, account } = context;
  const text = list === undefined ? sent('list') : list.nifs.join('\n');
  const fault = refusal?.faults?.list;
  const body = html`
<h1>${messages.screenTitle}</h1>
${!account.suspended && html`<p class="lead">${messages.screenLead(formats.number(availableCredits(account)))}</p>`}
${failureNotice(refusal?.message)}
<form class="card" method="post" action="${tools.base}/screen">
  ${tokenField(context)}
  <div class="field">
    <label for="list">${messages.screenLabel(formats.number(MAX_COMPANIES))}</label>
    <textarea id="list" name="list" rows="8" spellcheck="false" required aria-describedby="${fault && 'list-fault '}list-hint"${fault && html` aria-invalid="true" autofocus`}>${text}</textarea>
    ${fault && html`<p class="fault" id="list-fault" role="alert">${fault}</p>`}
    <p class="hint" id="list-hint">${messages.screenHint}</p>
  </div>
  <div class="field" data-file-for="list" hidden>
    <label for="file">${messages.screenFile}</label>
    <input id="file" type="file" accept=".csv,.tsv,.txt,text/*">
    <p class="hint">${messages.screenFileHint}</p>
  </div>
  ${list !== undefined && answer === undefined && price(context, list)}
  <div class="actions">
    ${list !== undefined && answer === undefined && html`<button type="submit" name="price" value="${list.nifs.length}">${messages.screenRun(formats.number(list.nifs.length))} <small>${messages.creditCount(formats.number(list.nifs.length))}</small></button>`}
    <button${list !== undefined && answer === undefined && html` class="quiet"`} type="submit">${messages.screenRead}</button>
  </div>
</form>
${answer !== undefined && (await screenedList(context, answer))}`;
  return memberPage(context, { title: messages.screenTitle, body, ...refusal });
}

/** The size of the list, the price of its screening, and the numbers that are left out. */
function price({ messages, formats, account }: MemberContext, { nifs, wrong, repeated }: NifList): Html {
  const left = availableCredits(account);
  const notes = [
    wrong > 0 && messages.screenWrong(formats.number(wrong)),
    repeated > 0 && messages.screenRepeated(formats.number(repeated)),
    left < nifs.length && messages.screenShort(formats.number(left)),
  ];
  return html`
<div role="status" tabindex="-1" autofocus data-price>
  <p><strong>${messages.screenPrice(formats.number(nifs.length))}</strong></p>
  ${notes.map((note) => note !== false && html`<p>${note}</p>`)}
</div>`;
}
