import { type Answer, responseTo } from '../../http/answer.ts';
import type { MemberContext } from '../page-context.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { type Column, dateOf, table } from '../ui/parts.ts';
import { csvText, separatorOf } from '../usage/csv.ts';
import { bracketText } from './brackets.ts';
import { problemSentence } from './try-answer.ts';

type Bracket = { start: number; end: number | null } | null;

interface DebtsAnswer {
  data: (
    | { nif: string; status: 200; debts: { tax_debt: Bracket; social_security_debt: Bracket } }
    | { nif: string; status: number; debts?: undefined }
  )[];
  datasets: { tax: string | null; social_security: string | null };
}
type Item = DebtsAnswer['data'][number];

/** The answer to a list: companies with debts first, then items that were not screened, then companies without debts. */
export async function screenedList(context: MemberContext, answer: Answer): Promise<Html> {
  const { messages, formats, tools } = context;
  if (!answer.ok) {
    return html`<section class="card" aria-labelledby="answer-title" data-forget-form>
  <h2 id="answer-title" tabindex="-1" autofocus>${messages.answer}</h2>
  ${problemSentence(context, answer.problem.kind)}
</section>`;
  }
  const { data, datasets } = (await responseTo(tools.publicUrl, answer).json()) as DebtsAnswer;
  const answered = data.filter(({ status }) => status === 200);
  const withDebts = answered.filter(hasDebts);
  const without = answered.filter((item) => !hasDebts(item));
  const refused = data.filter(({ status }) => status !== 200);
  const file = Buffer.from(csvOf(context, [...withDebts, ...refused, ...without], datasets));
  return html`
<section class="card" aria-labelledby="answer-title" data-forget-form>
  <div class="heading">
    <h2 id="answer-title" tabindex="-1" autofocus>${messages.screenFound(formats.number(withDebts.length), formats.number(answered.length))}</h2>
    <a href="data:text/csv;charset=utf-8;base64,${file.toString('base64')}" download="debts.csv">${messages.csv}</a>
  </div>
  <p class="hint">${messages.screenSpent(formats.number(answered.length))}</p>
  ${datasetNotes(context, datasets)}
  ${withDebts.length > 0 && table(columnsOf(context, datasets), withDebts, 'screened')}
  ${refused.length > 0 && html`<p class="notice warn">${messages.screenRefused(formats.number(refused.length))}</p><p><code>${refused.map(({ nif }) => nif).join(' ')}</code></p>`}
  ${without.length > 0 && html`<details><summary>${messages.screenWithout(formats.number(without.length))}</summary><p><code>${without.map(({ nif }) => nif).join(' ')}</code></p></details>`}
</section>`;
}

const hasDebts = ({ debts }: Item) =>
  debts !== undefined && (debts.tax_debt !== null || debts.social_security_debt !== null);

/** The meaning of an absent bracket, and the lists that were never imported. */
function datasetNotes({ messages, formats }: MemberContext, datasets: DebtsAnswer['datasets']): HtmlValue {
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

function columnsOf(context: MemberContext, datasets: DebtsAnswer['datasets']): Column<Item>[] {
  const { messages } = context;
  const cell = (bracket: Bracket | undefined, date: string | null) => {
    if (bracket) return bracketText(context, bracket);
    return date === null ? messages.dataNone : '–';
  };
  return [
    ['NIF', ({ nif }) => html`<code>${nif}</code>`],
    [messages.dataTax, ({ debts }) => cell(debts?.tax_debt, datasets.tax)],
    [messages.dataSocialSecurity, ({ debts }) => cell(debts?.social_security_debt, datasets.social_security)],
  ];
}

function csvOf(
  context: MemberContext,
  items: Item[],
  { tax, social_security }: DebtsAnswer['datasets'],
): string {
  const columns = [
    'nif',
    'status',
    ...['tax_start', 'tax_end', 'tax_dataset'],
    ...['social_security_start', 'social_security_end', 'social_security_dataset'],
  ];
  const lines = items.map(({ nif, status, debts }) => [
    nif,
    status,
    ...[debts?.tax_debt?.start, debts?.tax_debt?.end, tax],
    ...[debts?.social_security_debt?.start, debts?.social_security_debt?.end, social_security],
  ]);
  return csvText(separatorOf(context), [columns, ...lines]);
}
