import { type DebtDataset, readDatasets } from '../../companies/datasets/store.ts';
import type { Company } from '../../companies/lookup/schema.ts';
import { parseMatchQuery } from '../../companies/matches/query.ts';
import type { SearchAnswer } from '../../companies/search/schema.ts';
import { type Answer, responseTo } from '../../http/answer.ts';
import type { ProblemName } from '../../http/problems.ts';
import type { MemberContext } from '../page-context.ts';
import { tokenField } from '../request/forms.ts';
import { type Html, html } from '../ui/html.ts';
import { type Column, copyable, type Fact, facts, table } from '../ui/parts.ts';
import { bracketText } from './brackets.ts';
import { callProblem } from './call-problem.ts';

type FoundCompany = SearchAnswer['data'][number];

export interface Tried {
  kind: 'search' | 'match' | 'lookup';
  query: string;
  address: string;
  durationMs: number;
  answer: Answer;
}

/** Problems of calls that were admitted: they cost a credit (specification, Errors). */
const CHARGED: ProblemName[] = ['validation', 'company-not-found', 'search-failed', 'company-lookup-failed'];

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
  const { kind, query, answer, address, durationMs } = tried;
  const response = responseTo(tools.publicUrl, answer);
  const { status } = response;
  const headers = [...response.headers].map(([name, value]) => html`<span>${name}:</span> ${value}\n`);
  const json = (await response.json()) as { data: unknown };
  const problem = answer.ok ? null : answer.problem.kind;
  const entries = answer.ok && kind !== 'lookup' ? (json.data as FoundCompany[]) : null;
  const curl = `curl -H "Authorization: Bearer $API_KEY" \\\n  '${address.replaceAll("'", '%27')}'`;
  const count = entries !== null && html` · ${messages.companyCount(String(entries.length))}`;
  const cost =
    problem === null || CHARGED.includes(problem) ? messages.creditsSpent('1') : messages.noCreditSpent;
  return html`
<section class="card" aria-labelledby="answer-title" data-forget-form>
  <div class="heading">
    <h2 id="answer-title" tabindex="-1" autofocus>${messages.answer}</h2>
    <span class="badge ${status < 400 ? 'good' : 'bad'}" role="status">${status}${count}</span>
  </div>
  <p class="hint">${messages.took(formats.number(Math.max(1, Math.round(durationMs))))} · ${cost}</p>
  ${!answer.ok && callProblem(context, answer.problem)}
  ${problem !== null && MAY_SUCCEED.includes(problem) && again(context, tried)}
  ${entries !== null && entries.length > 0 && found(context, entries)}
  ${entries?.length === 0 && kind === 'search' && parseMatchQuery(query).kind === 'words' && otherWay(context, query)}
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

/** The same call once more. */
function again(context: MemberContext, { kind, query }: Tried): Html {
  const { messages, tools } = context;
  return html`
<form method="post" action="${tools.base}/try" id="retry">
  ${tokenField(context)}
  <input type="hidden" name="q" value="${query}">
  <button class="small" name="kind" value="${kind}">${messages.retry} <small>${messages.costs}</small></button>
</form>`;
}

/** After a search that found nothing: the same words anywhere in a name, with the price. */
function otherWay(context: MemberContext, query: string): Html {
  const { messages, tools } = context;
  return html`
<form method="post" action="${tools.base}/try" id="other-way">
  ${tokenField(context)}
  <input type="hidden" name="q" value="${query}">
  <p>${messages.onlyBeginnings} <button class="small" name="kind" value="match">${messages.searchWords} <small>${messages.costs}</small></button></p>
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
  const { debts } = await readDatasets(tools.sql).catch(() => ({
    debts: { tax: null, socialSecurity: null },
  }));
  const currency = capital_currency === 'EUR' ? '€' : capital_currency;
  const debt = (bracket: Company['tax_debt'], dataset: DebtDataset | null) => {
    // Without a dataset nothing is known about debts.
    if (bracket === null) return dataset === null ? messages.dataNone : messages.noBracket;
    return `${bracketText(context, bracket)}, ${messages.dataOf} ${bracket.last_updated}`;
  };
  const rows: Fact[] = [
    [messages.legalName, company.title],
    ['NIF', String(company.nif)],
    [
      messages.address,
      [company.address, `${company.zipcode} ${company.city}`.trim()].filter(Boolean).join(', '),
    ],
    [messages.activity, company.activity],
    ['CAE', company.cae],
    [messages.companyStatus, company.status],
    [messages.legalNature, nature],
    // A source that does not know the capital leaves 0.
    [messages.capital, Number(capital) > 0 && `${formats.number(Number(capital))} ${currency}`],
    [messages.dataTax, debt(company.tax_debt, debts.tax)],
    [messages.dataSocialSecurity, debt(company.social_security_debt, debts.socialSecurity)],
  ];
  return facts(rows.map(([label, value]) => [label, value || '–']));
}
