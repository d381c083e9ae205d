import type { Company } from '../../companies/lookup/schema.ts';
import { type Answer, responseTo } from '../../http/answer.ts';
import type { MemberContext } from '../page-context.ts';
import { tokenField } from '../request/forms.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { type Column, dateOf, moment, moreCredits, sentence, table } from '../ui/parts.ts';
import { csvText } from '../usage/csv.ts';
import { bracketText } from './brackets.ts';
import { callProblem } from './call-problem.ts';
import type { Sending } from './screen-once.ts';

/** An item of the answer: with `debts` unless it got a problem. */
interface Item {
  nif: string;
  status: number;
  debts?: Pick<Company, 'tax_debt' | 'social_security_debt'>;
}
/** The day of each list, YYYY-MM-DD; `null` if it was never imported. */
type Datasets = Record<'tax' | 'social_security', string | null>;

/** A list that was sent to the API. */
export interface Screened {
  answer: Answer;
  sending: Sending;
  /** Numbers that were left out, because their check digit is wrong. */
  wrong: string[];
}

/** The answer to a list: companies with debts first, then numbers that were not screened, then companies without debts. */
export async function screenedList(context: MemberContext, screened: Screened): Promise<Html> {
  const { messages, formats, tools } = context;
  const { answer, sending, wrong } = screened;
  if (!answer.ok)
    return html`<section class="card" aria-labelledby="answer-title">
  <h2 id="answer-title" tabindex="-1" autofocus>${messages.answer}</h2>
  ${callProblem(context, answer.problem)}
</section>`;
  const { data, datasets } = (await responseTo(tools.publicUrl, answer).json()) as {
    data: Item[];
    datasets: Datasets;
  };
  const names = await namesOf(context, data);
  const answered = data.filter(({ status }) => status === 200);
  const withDebts = answered.filter(hasDebts);
  const without = answered.filter((item) => !hasDebts(item));
  const refused = data.filter(({ status }) => status !== 200);
  const rejects = wrong.map((nif): Item => ({ nif, status: WRONG }));
  const items = [...withDebts, ...refused, ...rejects, ...without];
  const file = Buffer.from(csvOf(context, items, names, datasets));
  const count = formats.number(answered.length);
  return html`
<section class="card" aria-labelledby="answer-title">
  <div class="heading">
    <h2 id="answer-title" tabindex="-1" autofocus>${messages.screenFound(formats.number(withDebts.length), count)}</h2>
    <a href="data:text/csv;charset=utf-8;base64,${file.toString('base64')}" download="debts.csv">${messages.csv}</a>
  </div>
  <p class="hint" data-free>${sending.isRepeated ? messages.screenAgain : messages.creditsSpent(count)}. ${sentence(messages.screenFree, moment(formats, sending.freeUntil))}</p>
  ${datasetNotes(context, datasets)}
  ${withDebts.length > 0 && table(columnsOf(context, names, datasets), withDebts, 'screened')}
  ${refused.length > 0 && html`<p class="notice warn">${messages.screenRefused(formats.number(refused.length))}</p>${companies(refused, names)}${restForm(context, refused)}`}
  ${wrong.length > 0 && html`<p class="notice warn">${messages.screenWrong(formats.number(wrong.length))}</p>${companies(rejects, names)}`}
  ${without.length > 0 && html`<details><summary>${messages.screenWithout(formats.number(without.length))}</summary>${companies(without, names)}</details>`}
</section>`;
}

/** The status of a number with a wrong check digit: what the API would answer. */
const WRONG = 400;

/** The names of the companies. The result was paid, so it is shown without them if they can't be read. */
function namesOf({ tools }: MemberContext, data: Item[]): Promise<Names> {
  return tools.companyNames(data.map(({ nif }) => nif)).catch((error: unknown) => {
    tools.log.warn({ err: error }, 'the names of a screened list could not be read');
    return new Map<string, string>();
  });
}

type Names = ReadonlyMap<string, string>;

function companies(items: Item[], names: Names): Html {
  return html`<ul class="companies">${items.map(({ nif }) => html`<li><code>${nif}</code> ${names.get(nif)}</li>`)}</ul>`;
}

/** Another list of the companies for which the credits did not suffice. */
function restForm(context: MemberContext, refused: Item[]): Html {
  const { messages, formats, tools } = context;
  return html`
<form method="post" action="${tools.base}/screen" id="rest">
  ${tokenField(context)}
  <input type="hidden" name="list" value="${refused.map(({ nif }) => nif).join(' ')}">
  <p>${moreCredits(context)} <button class="small quiet" type="submit">${messages.screenRest(formats.number(refused.length))}</button></p>
</form>`;
}

const hasDebts = ({ debts }: Item) =>
  debts !== undefined && (debts.tax_debt !== null || debts.social_security_debt !== null);

/** The meaning of an absent bracket, and the lists that were never imported. */
function datasetNotes({ messages, formats }: MemberContext, datasets: Datasets): HtmlValue {
  const lists: [name: string, date: string | null][] = [
    [messages.dataTax, datasets.tax],
    [messages.dataSocialSecurity, datasets.social_security],
  ];
  return lists.map(([name, date]) =>
    date === null
      ? html`<p class="notice warn"><span><strong>${name}:</strong> ${messages.screenMissing}</span></p>`
      : html`<p class="hint">${name}: ${messages.screenAbsent} ${dateOf(formats, date)}.</p>`,
  );
}

function columnsOf(context: MemberContext, names: Names, datasets: Datasets): Column<Item>[] {
  const { messages } = context;
  const cell = (bracket: Company['tax_debt'] | undefined, date: string | null) => {
    if (bracket) return bracketText(context, bracket);
    return date === null ? messages.dataNone : '–';
  };
  return [
    ['NIF', ({ nif }) => html`<code>${nif}</code>`],
    [messages.legalName, ({ nif }) => names.get(nif) ?? '–'],
    [messages.dataTax, ({ debts }) => cell(debts?.tax_debt, datasets.tax)],
    [messages.dataSocialSecurity, ({ debts }) => cell(debts?.social_security_debt, datasets.social_security)],
  ];
}

function csvOf(
  context: MemberContext,
  items: Item[],
  names: Names,
  { tax, social_security }: Datasets,
): string {
  const columns = [
    ...['nif', 'legal_name', 'status'],
    ...['tax_start', 'tax_end', 'tax_dataset'],
    ...['social_security_start', 'social_security_end', 'social_security_dataset'],
  ];
  const lines = items.map(({ nif, status, debts }) => [
    ...[nif, names.get(nif), status],
    ...[debts?.tax_debt?.start, debts?.tax_debt?.end, tax],
    ...[debts?.social_security_debt?.start, debts?.social_security_debt?.end, social_security],
  ]);
  return csvText(context, [columns, ...lines]);
}
