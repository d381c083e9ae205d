import { debtsRoute } from '../../companies/debts/debts-route.ts';
import { creditsLeft } from '../../metering/accounts/account-store.ts';
import { formHandlers } from '../auth/form-page.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { failureNotice, type Refusal, refuse, tokenField } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { beginSending, callRefusal, makeOwnCall } from '../try/own-call.ts';
import { type Html, html, moreCredits } from '../ui/html.ts';
import { type Screened, screenedList } from './screen-answer.ts';
import { MAX_ROWS, type NifList, type Row, readNifList, reconciled } from './screen-list.ts';
import {
  hasCandidates,
  MAX_NAMES,
  nameRows,
  type Resolved,
  readTried,
  resolveButton,
  resolvedNames,
  resolveNames,
  soughtNames,
  triedUntil,
  withChoices,
} from './screen-names.ts';

/** Companies in one list: as many as POST /debts takes. */
const MAX_COMPANIES = 1000;

/**
 * GET and POST /dashboard/screen: a list of companies against both lists of debtors, by the same pipeline as a call with a key.
 * A first POST reads the list and says what it costs, a second one screens it. Nothing of the list is stored.
 */
export const screen = formHandlers({
  show: showScreen,
  async submit(context: MemberContext) {
    const { messages, formats, sent } = context;
    const refusal = callRefusal(context);
    if (refusal !== null) return refusal;
    const text = withChoices(sent('list'), sent('choices'));
    const list = readNifList(text);
    if (typeof list === 'number') {
      const fault = messages.screenTooLong(formats.number(list), formats.number(MAX_ROWS));
      return refuse(422, { faults: { list: fault } });
    }
    const tried = readTried(sent('list'), sent('tried'));
    const all = nameRows(list);
    const names = all.filter(({ line }) => line > tried);
    const seen = { list, text, names, tried };
    const count = list.nifs.length;
    const tooMany = messages.screenTooMany(formats.number(count), formats.number(MAX_COMPANIES));
    const fault = count === 0 && all.length === 0 ? messages.screenNone : count > MAX_COMPANIES && tooMany;
    if (fault !== false) return refuse(422, { faults: { list: fault } });
    if (sent('resolve') === 'yes' && names.length > 0) {
      const outcome = await resolveNames(context, names.slice(0, MAX_NAMES));
      if (outcome === null) return showScreen(context, null, { ...seen, isLate: true });
      const { resolved, fresh } = outcome;
      const sought = soughtNames(resolved);
      const left = { names: names.slice(sought), tried: names[sought - 1]?.line ?? tried };
      return showScreen(fresh, null, { ...seen, ...left, resolved });
    }
    // The member has seen this price. A list that was changed since is shown again.
    if (count === 0 || sent('price') !== String(count)) return showScreen(context, null, seen);
    const sending = await beginSending(context, list.nifs);
    if (sending === null) return showScreen(context, null, { ...seen, isLate: true });
    const call = await makeOwnCall(context, debtsRoute, { nifs: list.nifs }, sending.identity);
    const freeUntil = await sending.end(call);
    const { answer, cost, fresh } = call;
    const screened = { answer, cost, freeUntil };
    return showScreen(fresh, null, { ...seen, screened });
  },
});

interface Shown {
  list?: NifList;
  /** Of the list, with the NIFs that were chosen for its names. */
  text?: string;
  /** The rows whose names can be sought next, and the last line whose name was sought. */
  names?: Row[];
  tried?: number;
  resolved?: Resolved;
  /** Whether the list's free time is over, so that its price is shown again. */
  isLate?: boolean;
  screened?: Screened;
}

async function showScreen(
  context: MemberContext,
  refusal: Refusal | null,
  { list, text, names = [], tried = 0, isLate = false, screened, resolved }: Shown = {},
): Promise<PageResponse> {
  const { messages, formats, tools, sent, account } = context;
  const fault = refusal?.faults?.list;
  const isPriced = list !== undefined && !screened?.answer.ok;
  const canPay = creditsLeft(account) > 0;
  const canChoose = resolved !== undefined && hasCandidates(resolved);
  // Chosen NIFs are part of the list once it is read again.
  const canRun = isPriced && canPay && list.nifs.length > 0 && !canChoose;
  const body = html`
<h1>${messages.screenTitle}</h1>
${!account.suspended && html`<p class="lead">${messages.screenLead(formats.number(creditsLeft(account)))}</p>`}
${failureNotice(refusal?.message)}
${screened?.answer.ok === false && (await screenedList(context, list!, screened))}
<form class="card" method="post" action="${tools.base}/screen">
  ${tokenField(context)}
  <div class="field">
    <label for="list">${messages.screenLabel(formats.number(MAX_COMPANIES))}</label>
    <textarea id="list" name="list" rows="8" spellcheck="false" required aria-describedby="${fault && 'list-fault '}list-hint"${fault && html` aria-invalid="true" autofocus`}>${text ?? sent('list')}</textarea>
    ${fault && html`<p class="fault" id="list-fault" role="alert">${fault}</p>`}
    <p class="hint" id="list-hint">${messages.screenHint}</p>
  </div>
  <div class="field" data-file-for="list" hidden>
    <label for="file">${messages.screenFile}</label>
    <input id="file" type="file" accept=".csv,.tsv,.txt,text/*">
    <p class="hint">${messages.screenFileHint}</p>
    <p class="fault" role="alert" data-workbook hidden>${messages.screenWorkbook}</p>
  </div>
  ${isPriced && price(context, list, isLate, screened === undefined)}
  ${resolved !== undefined && resolvedNames(context, resolved)}
  ${text !== undefined && tried > 0 && html`<input type="hidden" name="tried" value="${triedUntil(text, tried)}">`}
  <div class="actions">
    ${canRun && html`<button type="submit" name="price" value="${list.nifs.length}">${messages.screenRun(formats.number(list.nifs.length))} <small>${messages.creditCount(formats.number(list.nifs.length))}</small></button>`}
    ${isPriced && canPay && resolveButton(context, names)}
    <button${canRun && html` class="quiet"`} type="submit"${account.suspended && html` disabled`}>${canChoose ? messages.screenReadChosen : messages.screenRead}</button>
  </div>
</form>
${screened?.answer.ok === true && (await screenedList(context, list!, screened))}`;
  return memberPage(context, { title: messages.screenTitle, body, ...refusal });
}

/** The outcome of the rows of the list, and the price of its screening. */
function price(context: MemberContext, list: NifList, isLate: boolean, isFocused: boolean): Html {
  const { messages, formats, account } = context;
  const { nifs } = list;
  const left = creditsLeft(account);
  const more = moreCredits(context);
  const notes = [
    isLate && messages.screenLate,
    left === 0 && html`${messages.screenNoCredits} ${more}`,
    left > 0 && left < nifs.length && html`${messages.screenShort(formats.number(left))} ${more}`,
  ];
  return html`
<div role="status"${isFocused && html` tabindex="-1" autofocus`} data-price>
  ${reconciled(context, list)}
  ${nifs.length > 0 && html`<p><strong>${messages.screenPrice(formats.number(nifs.length))}</strong></p>`}
  ${notes.map((note) => note !== false && html`<p>${note}</p>`)}
</div>`;
}
