import type { Company } from '../../companies/lookup/schema.ts';
import { type Answer, responseTo } from '../../http/answer.ts';
import type { MemberContext } from '../page-context.ts';
import { tokenField } from '../request/forms.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { type Column, dateOf, moment, moreCredits, sentence, table } from '../ui/parts.ts';
import { csvText } from '../usage/csv.ts';
import { bracketText } from './brackets.ts';
import { callProblem } from './call-problem.ts';
import type { NifList, Row } from './screen-list.ts';
import type { Sending } from './screen-once.ts';
import { leftOutText } from './screen-rows.ts';

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
}

/** A row of the pasted list, and the API's item about its company; `null` means that it was not asked. */
interface Result {
  row: Row;
  item: Item | null;
  /** Of the directory; '' if it has none. */
  name: string;
}

/** The answer to a list: each row in the order in which it was pasted, as a table and as a CSV. */
export async function screenedList(
  context: MemberContext,
  list: NifList,
  { answer, sending }: Screened,
): Promise<Html> {
  const { messages, formats, tools } = context;
  if (!answer.ok)
    return html`<section class="card" aria-labelledby="answer-title">
  <h2 id="answer-title" tabindex="-1" autofocus>${messages.answer}</h2>
  ${callProblem(context, answer.problem)}
</section>`;
  const { data, datasets } = (await responseTo(tools.publicUrl, answer).json()) as {
    data: Item[];
    datasets: Datasets;
  };
  const results = await resultsOf(context, list, data);
  const answered = data.filter(({ status }) => status === 200);
  const unpaid = results.filter(({ row, item }) => row.leftOut === null && item?.status !== 200);
  const count = formats.number(answered.length);
  const file = Buffer.from(csvOf(context, results, datasets));
  return html`
<section class="card" aria-labelledby="answer-title">
  <div class="heading">
    <h2 id="answer-title" tabindex="-1" autofocus>${messages.screenFound(formats.number(answered.filter(hasDebts).length), count)}</h2>
    <a href="data:text/csv;charset=utf-8;base64,${file.toString('base64')}" download="${messages.screenFileName}">${messages.csv}</a>
  </div>
  <p class="hint" data-free>${sending.isRepeated ? messages.screenAgain : messages.creditsSpent(count)}. ${sentence(messages.screenFree, moment(formats, sending.freeUntil))}</p>
  ${datasetNotes(context, datasets)}
  ${unpaid.length > 0 && restForm(context, unpaid)}
  ${table(columnsOf(context, datasets), results, 'stacked screened')}
</section>`;
}

async function resultsOf(context: MemberContext, { rows }: NifList, data: Item[]): Promise<Result[]> {
  const items = new Map(data.map((item) => [item.nif, item]));
  const names = await namesOf(context, [...items.keys()]);
  return rows.map((row) => ({
    row,
    item: items.get(row.nif ?? '') ?? null,
    name: names.get(row.nif ?? '') ?? '',
  }));
}

/** The names of the companies. The result was paid, so it is shown without them if they can't be read. */
function namesOf({ tools }: MemberContext, nifs: string[]): Promise<ReadonlyMap<string, string>> {
  return tools.companyNames(nifs).catch((error: unknown) => {
    tools.log.warn({ err: error }, 'the names of a screened list could not be read');
    return new Map<string, string>();
  });
}

/** Another list of the companies for which the credits did not suffice. */
function restForm(context: MemberContext, unpaid: Result[]): Html {
  const { messages, formats, tools } = context;
  const count = formats.number(unpaid.length);
  return html`
<p class="notice warn">${messages.screenRefused(count)}</p>
<form method="post" action="${tools.base}/screen" id="rest">
  ${tokenField(context)}
  <input type="hidden" name="list" value="${unpaid.map(({ row }) => row.nif).join('\n')}">
  <p>${moreCredits(context)} <button class="small quiet" type="submit">${messages.screenRest(count)}</button></p>
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

/** The outcome of a row in words. */
function outcomeOf({ messages }: MemberContext, { row, item }: Result): string {
  if (row.leftOut !== null && row.leftOut !== 'repeated') return leftOutText(messages, row);
  if (item === null || item.status !== 200) return messages.screenOutcomes.unpaid;
  const outcome = hasDebts(item) ? messages.screenOutcomes.found : messages.screenOutcomes.without;
  return row.leftOut === null ? outcome : `${outcome} (${leftOutText(messages, row)})`;
}

function columnsOf(context: MemberContext, datasets: Datasets): Column<Result>[] {
  const { messages } = context;
  const cell = (item: Item | null, bracket: Company['tax_debt'] | undefined, date: string | null) => {
    if (bracket) return bracketText(context, bracket);
    if (item?.status !== 200) return '';
    return date === null ? messages.dataNone : '–';
  };
  const outcome = (result: Result) => {
    const text = outcomeOf(context, result);
    const isFound = result.item !== null && hasDebts(result.item);
    return isFound ? html`<span class="badge warn">${text}</span>` : text;
  };
  return [
    [messages.screenPasted, ({ row }) => html`<span class="cut" title="${row.text}">${row.text}</span>`],
    ['NIF', ({ row }) => row.nif && html`<code>${row.nif}</code>`],
    [messages.legalName, ({ name, item }) => name || (item?.status === 200 && messages.screenUnknown)],
    [messages.screenOutcome, outcome],
    [messages.dataTax, ({ item }) => cell(item, item?.debts?.tax_debt, datasets.tax)],
    [
      messages.dataSocialSecurity,
      ({ item }) => cell(item, item?.debts?.social_security_debt, datasets.social_security),
    ],
  ];
}

function csvOf(context: MemberContext, results: Result[], { tax, social_security }: Datasets): string {
  const { messages } = context;
  const ofList = (name: string) =>
    [messages.screenFrom, messages.screenTo, messages.dataOf].map((part) => `${name}: ${part}`);
  const columns = [
    ...[messages.screenLine, messages.screenPasted, 'NIF', messages.legalName, messages.screenOutcome],
    ...ofList(messages.dataTax),
    ...ofList(messages.dataSocialSecurity),
  ];
  const bracket = (item: Item | null, found: Company['tax_debt'] | undefined, date: string | null) =>
    item?.status === 200 ? [found?.start, found?.end, date] : [null, null, null];
  const lines = results.map((result) => {
    const { row, item, name } = result;
    return [
      ...[row.line, row.text, row.nif, name, outcomeOf(context, result)],
      ...bracket(item, item?.debts?.tax_debt, tax),
      ...bracket(item, item?.debts?.social_security_debt, social_security),
    ];
  });
  return csvText(context, [columns, ...lines]);
}
