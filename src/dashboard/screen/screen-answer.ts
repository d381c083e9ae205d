import type { Company } from '../../companies/lookup/lookup-schema.ts';
import { type Answer, responseTo } from '../../http/answer.ts';
import { isFree } from '../../http/error-kind.ts';
import type { ItemProblem } from '../../http/list-schema.ts';
import type { ProblemName } from '../../http/problems.ts';
import type { MemberContext } from '../context.ts';
import { tokenField } from '../request/forms.ts';
import { bracketText, type Cost, callProblem, isPaid, kindOf } from '../try/own-call.ts';
import {
  type Column,
  dateOf,
  type Html,
  type HtmlValue,
  html,
  moment,
  moreCredits,
  sentence,
  table,
} from '../ui/html.ts';
import { csvText } from '../usage/download.ts';
import {
  costText,
  failedCell,
  failedText,
  isUnpaid,
  leftOutText,
  type NifList,
  pastedCell,
  type Row,
} from './screen-list.ts';

/** An item of the answer: with `debts` unless it got a problem. */
interface Item {
  nif: string;
  status: number;
  debts?: Pick<Company, 'tax_debt' | 'social_security_debt'>;
  problem?: ItemProblem;
}
/** The day of each list, YYYY-MM-DD; `null` if it was never imported. */
type Datasets = Record<'tax' | 'social_security', string | null>;
/** The file that was imported as each list; `null` if none is known. */
type Files = Record<keyof Datasets, { sha256: string } | null>;

/** A list that was sent to the API. */
export interface Screened {
  answer: Answer;
  cost: Cost;
  /** The end of the time in which it costs nothing again; `null` means that it is charged again. */
  freeUntil: Date | null;
}

/** A row of the pasted list, and the API's item about its company; `null` means that it was not asked. */
interface Result {
  row: Row;
  item: Item | null;
  /** The item's problem, if it has one. */
  problem: ProblemName | null;
  /** Of the directory; '' if it has none. */
  name: string;
}

/** The answer to a list: each row, as a table with the debtors first, and as a CSV in the order in which it was pasted. */
export async function screenedList(
  context: MemberContext,
  list: NifList,
  { answer, cost, freeUntil }: Screened,
): Promise<Html> {
  const { messages, formats, tools } = context;
  if (!answer.ok)
    return html`<section class="card" aria-labelledby="answer-title">
  <h2 id="answer-title" tabindex="-1" autofocus>${messages.answer}</h2>
  ${callProblem(context, answer.problem)}
  ${isPaid(cost) && html`<p class="hint">${costText(context, cost)}</p>`}
</section>`;
  const { data, datasets, files } = (await responseTo(tools.publicUrl, answer).json()) as {
    data: Item[];
    datasets: Datasets;
    files: Files;
  };
  const results = await resultsOf(context, list, data);
  const answered = data.filter(({ status }) => status === 200);
  const rest = results.filter(
    ({ row, problem }) => row.leftOut === null && problem !== null && isFree(problem),
  );
  const count = formats.number(answered.length);
  // The debtors first: they are what the list was screened for. The file has the order of the list.
  const inOrder = results.toSorted((a, b) => Number(isDebtor(b)) - Number(isDebtor(a)));
  const file = Buffer.from(csvOf(context, results, datasets, cost));
  return html`
<section class="card" aria-labelledby="answer-title">
  <div class="heading">
    <h2 id="answer-title" tabindex="-1" autofocus>${messages.screenFound(formats.number(answered.filter(hasDebts).length), count)}</h2>
    <a href="data:text/csv;charset=utf-8;base64,${file.toString('base64')}" download="${messages.screenFileName}">${messages.csv}</a>
  </div>
  <p class="hint" data-free>${costText(context, cost)} ${freeUntil !== null && sentence(messages.screenFree, moment(formats, freeUntil))}</p>
  ${datasetNotes(context, datasets, files)}
  ${rest.length > 0 && restForm(context, rest, cost)}
  ${table(columnsOf(context, datasets, cost), inOrder, 'screened')}
</section>`;
}

async function resultsOf(context: MemberContext, { rows }: NifList, data: Item[]): Promise<Result[]> {
  const items = new Map(data.map((item) => [item.nif, item]));
  const names = await namesOf(context, [...items.keys()]);
  return rows.map((row) => {
    const item = items.get(row.nif ?? '') ?? null;
    const problem = item?.problem === undefined ? null : kindOf(item.problem);
    return { row, item, problem, name: names.get(row.nif ?? '') ?? '' };
  });
}

/** The names of the companies. The result was paid, so it is shown without them if they can't be read. */
function namesOf({ tools }: MemberContext, nifs: string[]): Promise<ReadonlyMap<string, string>> {
  return tools.companyNames(nifs).catch((error: unknown) => {
    tools.log.warn({ err: error }, 'the names of a screened list could not be read');
    return new Map<string, string>();
  });
}

/** Another list of the companies that have no result and cost nothing. */
function restForm(context: MemberContext, rest: Result[], cost: Cost): Html {
  const { messages, formats, tools } = context;
  const count = formats.number(rest.length);
  const lackCredits = rest.every(({ problem }) => isUnpaid(problem!, cost));
  return html`
<p class="notice warn">${lackCredits ? messages.screenRefused(count) : messages.screenFailed(count)}</p>
<form method="post" action="${tools.base}/screen" id="rest">
  ${tokenField(context)}
  <input type="hidden" name="list" value="${rest.map(({ row }) => row.nif).join('\n')}">
  <p>${lackCredits && moreCredits(context)} <button class="small quiet" type="submit">${messages.screenRest(count)}</button></p>
</form>`;
}

const isDebtor = ({ item }: Result) => item !== null && hasDebts(item);

const hasDebts = ({ debts }: Item) =>
  debts !== undefined && (debts.tax_debt !== null || debts.social_security_debt !== null);

/** The file of each list, what an absent bracket means, and the lists that were never imported. */
function datasetNotes({ messages, formats }: MemberContext, datasets: Datasets, files: Files): HtmlValue {
  const lists = [
    [messages.dataTax, 'tax'],
    [messages.dataSocialSecurity, 'social_security'],
  ] as const;
  return lists.map(([name, list]) => {
    const [date, file] = [datasets[list], files[list]];
    const hash = file && html`, <code title="SHA-256: ${file.sha256}">${file.sha256.slice(0, 12)}…</code>`;
    return date === null
      ? html`<p class="notice warn"><span><strong>${name}.</strong> ${messages.screenMissing}</span></p>`
      : html`<p class="hint">${name}, ${messages.dataOf} ${dateOf(formats, date)}${hash}. ${messages.screenAbsent}</p>`;
  });
}

/** The outcome of a row in words. */
function outcomeOf(context: MemberContext, { row, item, problem }: Result, cost: Cost): string {
  const { messages } = context;
  if (item === null) return leftOutText(context, row);
  const { found, without } = messages.screenOutcomes;
  const answered = hasDebts(item) ? found : without;
  const outcome = problem === null ? answered : failedText(context, problem, cost);
  return row.leftOut === null ? outcome : `${outcome} (${leftOutText(context, row)})`;
}

function columnsOf(context: MemberContext, datasets: Datasets, cost: Cost): Column<Result>[] {
  const { messages } = context;
  const cell = (item: Item | null, bracket: Company['tax_debt'] | undefined, date: string | null) => {
    if (bracket) return bracketText(context, bracket);
    if (item?.status !== 200) return '';
    return date === null ? messages.dataNone : '–';
  };
  const outcome = (result: Result) => {
    const { row, problem } = result;
    if (row.leftOut === null && problem !== null) return failedCell(context, problem, cost);
    const text = outcomeOf(context, result, cost);
    return isDebtor(result) ? html`<span class="badge warn">${text}</span>` : text;
  };
  return [
    [messages.screenPasted, ({ row }) => pastedCell(row)],
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

function csvOf(context: MemberContext, results: Result[], datasets: Datasets, cost: Cost): string {
  const { messages } = context;
  const { tax, social_security } = datasets;
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
      ...[row.line, row.text, row.nif, name, outcomeOf(context, result, cost)],
      ...bracket(item, item?.debts?.tax_debt, tax),
      ...bracket(item, item?.debts?.social_security_debt, social_security),
    ];
  });
  return csvText(context, [columns, ...lines]);
}
