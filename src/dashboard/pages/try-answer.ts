import type { CallKind } from '../../credits/calls.ts';
import { type Answer, responseTo } from '../../http/answer.ts';
import { type ProblemName, problemType } from '../../http/problems.ts';
import type { Company, DebtBracket } from '../../lookup/schema.ts';
import type { SearchAnswer } from '../../search/schema.ts';
import type { MemberContext } from '../request/page-context.ts';
import { token } from '../ui/forms.ts';
import { type Html, type HtmlValue, html } from '../ui/html.ts';
import { copyable } from '../ui/parts.ts';
import { problemText, prose } from './reference.ts';

/** A call that was made, as it is shown. */
export interface Tried {
  kind: CallKind;
  address: string;
  durationMs: number;
  status: number;
  headers: [name: string, value: string][];
  /** JSON, indented. */
  body: string;
  /** The entries of a search; `null` for a lookup or a problem. */
  entries: SearchAnswer['data'] | null;
  /** The record of a lookup; `null` for a search or a problem. */
  company: Company | null;
  problem: ProblemName | null;
}

/** Problems of calls that were admitted: they cost a credit (specification, Errors). */
const CHARGED: ProblemName[] = ['validation', 'company-not-found', 'search-failed', 'company-lookup-failed'];

export async function describeAnswer(
  publicUrl: string,
  call: Pick<Tried, 'kind' | 'address' | 'durationMs'>,
  answer: Answer,
): Promise<Tried> {
  const response = responseTo(publicUrl, answer);
  const data = answer.ok ? JSON.parse(answer.json).data : null;
  return {
    ...call,
    status: response.status,
    headers: [...response.headers].map(([name, value]) => [titleCase(name), value]),
    body: JSON.stringify(await response.json(), null, 2),
    entries: call.kind === 'search' ? (data as SearchAnswer['data'] | null) : null,
    company: call.kind === 'lookup' ? (data as Company | null) : null,
    problem: answer.ok ? null : answer.problem.kind,
  };
}

function titleCase(name: string): string {
  const known = /^ratelimit-/.test(name) ? name.replace('ratelimit', 'RateLimit') : name;
  return known.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}

/** The call as a program would send it, and its answer: what it says first, then its headers and its JSON. */
export function triedCall(context: MemberContext, tried: Tried): Html {
  const { messages, formats } = context;
  const { entries, company, problem, status } = tried;
  const curl = `curl -H "Authorization: Bearer $API_KEY" \\\n  '${tried.address.replaceAll("'", '%27')}'`;
  const count = entries !== null && html` · ${messages.found(String(entries.length))}`;
  const cost = problem === null || CHARGED.includes(problem) ? messages.creditSpent : messages.noCreditSpent;
  return html`
<section class="card" aria-labelledby="answer-title" data-forget-form>
  <div class="heading">
    <h2 id="answer-title" tabindex="-1" autofocus>${messages.answer}</h2>
    <span class="badge ${status < 400 ? 'good' : 'bad'}" role="status">${status}${count}</span>
  </div>
  <p class="hint">${messages.took(formats.number(Math.max(1, Math.round(tried.durationMs))))} · ${cost}</p>
  ${problem !== null && problemSentence(context, problem)}
  ${entries !== null && entries.length > 0 && found(context, entries)}
  ${company !== null && details(context, company)}
  <details>
    <summary>${messages.headersAndJson}</summary>
    <pre class="headers" tabindex="0">${tried.headers.map(([name, value]) => html`<span>${name}:</span> ${value}\n`)}</pre>
    ${copyable(messages, { id: 'answer-json', label: 'JSON', text: tried.body })}
  </details>
</section>
<section class="card" aria-labelledby="request-title">
  <h2 id="request-title">${messages.request}</h2>
  ${copyable(messages, { id: 'request', label: messages.request, text: curl })}
</section>`;
}

/** The meaning of a problem in the reader's language, with a link to more. */
function problemSentence({ messages, tools }: MemberContext, kind: ProblemName): Html {
  const { title, cause, fix } = problemText(kind, messages.language);
  const address = `${problemType(tools.root, kind)}?lang=${messages.language}`;
  return html`<p><strong>${title}.</strong> ${prose(cause)} ${prose(fix)} <a href="${address}"><code>${kind}</code></a></p>`;
}

/** The companies that a search found, each with a button that looks it up. */
function found(context: MemberContext, entries: SearchAnswer['data']): Html {
  const { messages, tools } = context;
  return html`
<form method="post" action="${tools.base}/try">
${token(context)}
<table class="stacked found">
  <thead><tr><th scope="col">${messages.legalName}</th><th scope="col">NIF</th><th scope="col"><span class="unseen">${messages.lookUp}</span></th></tr></thead>
  <tbody>${entries.map(
    ({ nif, legal_name }) => html`
    <tr><th scope="row">${legal_name}</th><td><code>${nif}</code></td><td class="end"><button class="small quiet" name="lookup" value="${nif}" aria-label="${messages.lookUp} ${nif}">${messages.lookUpOne} <small>${messages.costs}</small></button></td></tr>`,
  )}</tbody>
</table>
</form>`;
}

function details({ messages, formats }: MemberContext, company: Company): Html {
  const { structure } = company;
  const amount = (euros: number) => `${formats.number(euros)} €`;
  const debt = (bracket: DebtBracket | null) =>
    bracket === null
      ? messages.noBracket
      : `${messages.bracket(amount(bracket.start), bracket.end === null ? null : amount(bracket.end))}, ${messages.dataOf} ${bracket.last_updated}`;
  const rows: [label: string, value: HtmlValue][] = [
    [messages.legalName, company.title],
    ['NIF', String(company.nif)],
    [
      messages.address,
      [company.address, `${company.zipcode} ${company.city}`.trim()].filter(Boolean).join(', '),
    ],
    [messages.activity, company.activity],
    ['CAE', company.cae],
    [messages.companyStatus, company.status],
    [messages.legalNature, structure.nature],
    [messages.capital, `${structure.capital} ${structure.capital_currency}`],
    [messages.dataTax, debt(company.tax_debt)],
    [messages.dataSocialSecurity, debt(company.social_security_debt)],
  ];
  return html`<dl class="facts">${rows.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value || '–'}</dd></div>`)}</dl>`;
}
