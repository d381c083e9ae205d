import { type DebtDataset, readDatasets } from '../../companies/datasets/store.ts';
import type { Company } from '../../companies/lookup/schema.ts';
import { parseMatchQuery } from '../../companies/matches/query.ts';
import type { SearchAnswer } from '../../companies/search/schema.ts';
import { type Answer, responseTo } from '../../http/answer.ts';
import type { ProblemName } from '../../http/problems.ts';
import type { MemberContext } from '../context.ts';
import { tokenField } from '../request/forms.ts';
import { type Html, html } from '../ui/html.ts';
import { type Column, copyable, dateOf, type Fact, facts, table } from '../ui/parts.ts';
import { bracketText } from './brackets.ts';
import { callProblem } from './call-problem.ts';
import type { Cost } from './own-call.ts';

type FoundCompany = SearchAnswer['data'][number];

export interface Tried {
  kind: 'search' | 'match' | 'lookup';
  query: string;
  address: string;
  durationMs: number;
  answer: Answer;
  cost: Cost;
}

/** Problems that are not about the call, so that it may succeed in a moment. */
const MAY_SUCCEED: ProblemName[] = [
  'rate-limit-exceeded',
  'service-unavailable',
  'search-failed',
  'internal-error',
];

/** The call as a program would send it, and its answer: its meaning first, then its headers and its JSON. */
export async function triedCall(context: MemberContext, tried: Tried): Promise<Html> {
  const { messages, formats, tools } = context;
  const { kind, query, answer, cost, address, durationMs } = tried;
  const response = responseTo(tools.publicUrl, answer);
  const { status } = response;
  const headers = [...response.headers].map(([name, value]) => html`<span>${name}:</span> ${value}\n`);
  const json = (await response.json()) as { data: unknown };
  const problem = answer.ok ? null : answer.problem.kind;
  const entries = answer.ok && kind !== 'lookup' ? (json.data as FoundCompany[]) : null;
  const curl = `curl '${address.replaceAll("'", '%27')}' \\\n  -H "Authorization: Bearer $API_KEY"`;
  const count = entries !== null && html` · ${messages.companyCount(String(entries.length))}`;
  const spent =
    cost.credits === 0 ? messages.noCreditSpent : messages.creditsSpent(formats.number(cost.credits));
  const button = (kind: Tried['kind'], label: string) =>
    html`<button class="small" name="kind" value="${kind}">${label} <small>${messages.costs}</small></button>`;
  // After a search that found nothing: the same words anywhere in a name.
  const otherWay = html`<p>${messages.onlyBeginnings} ${button('match', messages.searchWords)}</p>`;
  return html`
<section class="card" aria-labelledby="answer-title" data-forget-form>
  <div class="heading">
    <h2 id="answer-title" tabindex="-1" autofocus>${messages.answer}</h2>
    <span class="badge ${status < 400 ? 'good' : 'bad'}" role="status">${status}${count}</span>
  </div>
  <p class="hint">${messages.took(formats.number(Math.max(1, Math.round(durationMs))))} · ${spent}</p>
  ${!answer.ok && callProblem(context, answer.problem)}
  ${problem !== null && MAY_SUCCEED.includes(problem) && sameQuery(context, query, 'retry', button(kind, messages.retry))}
  ${entries !== null && entries.length > 0 && found(context, entries)}
  ${entries?.length === 0 && kind === 'search' && parseMatchQuery(query).kind === 'words' && sameQuery(context, query, 'other-way', otherWay)}
  ${answer.ok && kind === 'lookup' && (await details(context, json.data as Company))}
  <details>
    <summary>${messages.headersAndJson}</summary>
    <pre class="headers" tabindex="0">${headers}</pre>
    ${copyable(messages, { id: 'answer-json', label: 'JSON', text: JSON.stringify(json, null, 2) })}
  </details>
</section>
<section class="card" aria-labelledby="request-title">
  <h2 id="request-title">${messages.request}</h2>
  ${copyable(messages, { id: 'request', label: messages.request, text: curl })}
</section>`;
}

/** A further call with the same query. @param content its button, with the kind of the call */
function sameQuery(context: MemberContext, query: string, id: string, content: Html): Html {
  return html`
<form method="post" action="${context.tools.base}/try" id="${id}">
  ${tokenField(context)}
  <input type="hidden" name="q" value="${query}">
  ${content}
</form>`;
}

/** The companies that a search found, each with a button that looks it up. */
function found(context: MemberContext, entries: FoundCompany[]): Html {
  const { messages, tools } = context;
  const lookUp = ({ nif }: FoundCompany) =>
    html`<button class="small quiet" name="lookup" value="${nif}">${messages.lookUpOne} <span class="unseen">${nif}</span> <small>${messages.costs}</small></button>`;
  const columns: Column<FoundCompany>[] = [
    [messages.legalName, ({ legal_name }) => legal_name],
    ['NIF', ({ nif }) => html`<code>${nif}</code>`],
    [messages.lookUp, lookUp, 'end'],
  ];
  return html`
<form method="post" action="${tools.base}/try">
${tokenField(context)}
${table(columns, entries, 'found')}
</form>`;
}

async function details(context: MemberContext, company: Company): Promise<Html> {
  const { messages, formats, tools } = context;
  const { capital, capital_currency, nature } = company.structure;
  // An answer that was paid is shown, also if Postgres is away by now.
  const datasets = await readDatasets(tools.sql).catch(() => null);
  const currency = capital_currency === 'EUR' ? '€' : capital_currency;
  const debt = (bracket: Company['tax_debt'], dataset?: DebtDataset | null) => {
    // Without a dataset nothing is known about debts.
    if (bracket === null) return dataset == null ? messages.dataNone : messages.noBracket;
    return html`${bracketText(context, bracket)}, ${messages.dataOf} ${dateOf(formats, bracket.last_updated)}`;
  };
  const address = [company.address, `${company.zipcode} ${company.city}`.trim()].filter(Boolean).join(', ');
  const rows: Fact[] = [
    [messages.legalName, company.title],
    ['NIF', String(company.nif)],
    [messages.address, address],
    [messages.activity, company.activity],
    ['CAE', company.cae],
    [messages.companyStatus, company.status],
    [messages.legalNature, nature],
    // A source that does not know the capital leaves 0.
    [messages.capital, Number(capital) > 0 && `${formats.number(Number(capital))} ${currency}`],
    [messages.dataTax, debt(company.tax_debt, datasets?.debts.tax)],
    [messages.dataSocialSecurity, debt(company.social_security_debt, datasets?.debts['social-security'])],
  ];
  return facts(rows.map(([label, value]) => [label, value || '–']));
}
