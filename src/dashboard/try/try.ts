import { type DebtDataset, readDatasets } from '../../companies/datasets/datasets-store.ts';
import { lookupRoute } from '../../companies/lookup/lookup-route.ts';
import type { Company } from '../../companies/lookup/lookup-schema.ts';
import { matchesRoute } from '../../companies/matches/matches-route.ts';
import { isValidNif, normalizeNif } from '../../companies/nif.ts';
import { searchRoute } from '../../companies/search/search-route.ts';
import type { SearchAnswer } from '../../companies/search/search-schema.ts';
import { type Answer, responseTo } from '../../http/answer.ts';
import { creditsLeft } from '../../metering/accounts/account-store.ts';
import { formHandlers } from '../auth/form-page.ts';
import { isFirstSending } from '../auth/limits.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { curl } from '../reference/code-samples.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { failureNotice, field, type Refusal, refuse, tokenField } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import {
  type Column,
  copyable,
  dateOf,
  type Fact,
  facts,
  type Html,
  html,
  moreCredits,
  table,
} from '../ui/html.ts';
import { bracketText, type Cost, callProblem, callRefusal, makeOwnCall } from './own-call.ts';

const MAX_QUERY = 500;

const ROUTES = { search: searchRoute, match: matchesRoute, lookup: lookupRoute };

/** The query of the form or of a link, cut to length. `lookup` is the NIF of a button beside a company that was found. */
function queryOf({ sent, url }: MemberContext): string {
  const query = sent('lookup') || sent('q') || (url.searchParams.get('q') ?? '');
  // A cut in the middle of a character leaves half of it, which can't be escaped.
  return query.slice(0, MAX_QUERY).replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * GET and POST /dashboard/try: the same pipeline as a call with a key, for the member's account. It costs a token and a credit,
 * and any answer is shown. A query that the API would refuse as `validation` makes no call and costs nothing, and a form that is
 * sent again makes none.
 */
export const tryIt = formHandlers({
  show: showTry,
  async submit(context: MemberContext) {
    const { tools, messages, sent } = context;
    const refusal = callRefusal(context);
    if (refusal !== null) return refusal;
    const kind = kindOf(context);
    const query = queryOf(context);
    // The API would answer 400 and charge a credit. Here a typing error costs none.
    const fault = inputFault(context, kind, query.trim());
    if (fault !== null) return refuse(422, { faults: { q: fault } });
    const address = `${tools.publicUrl}/api/v1/${pathOf(kind, query)}`;
    const isFirst = await isFirstSending(tools.sql, sent(TOKEN_FIELD));
    if (!isFirst) return refuse(409, { message: messages.triedAlready });
    const { answer, cost, durationMs, fresh } = await makeOwnCall(
      context,
      ROUTES[kind],
      kind === 'lookup' ? { nif: query } : { q: query },
    );
    return showTry(fresh, null, { kind, address, durationMs, answer, cost });
  },
});

/** A button beside a company that was found sends its NIF as `lookup`. */
function kindOf({ sent }: MemberContext): Tried['kind'] {
  if (sent('kind') === 'lookup' || sent('lookup') !== '') return 'lookup';
  return sent('kind') === 'match' ? 'match' : 'search';
}

function pathOf(kind: Tried['kind'], query: string): string {
  if (kind === 'lookup') return `companies/${encodeURIComponent(query.trim())}`;
  return `${kind === 'match' ? 'matches' : 'companies'}?q=${encodeURIComponent(query)}`;
}

/** Why the API would refuse the query with 400; `null` if it would not. */
function inputFault({ messages }: MemberContext, kind: Tried['kind'], query: string): string | null {
  if (kind !== 'lookup') return query === '' ? messages.queryMissing : null;
  const nif = normalizeNif(query);
  if (nif === null) return messages.nifMissing;
  return isValidNif(nif) ? null : messages.nifWrong;
}

async function showTry(
  context: MemberContext,
  refusal: Refusal | null,
  tried: Tried | null = null,
): Promise<PageResponse> {
  const { messages, formats, tools, account } = context;
  const isSpent = creditsLeft(account) === 0;
  // Without credits each call would be refused, as the notice above says.
  const button = (kind: Tried['kind'], label: string, look = '') =>
    html`<button class="${look}" type="submit" name="kind" value="${kind}"${isSpent && html` disabled`}>${label} <small>${messages.costs}</small></button>`;
  const body = html`
<h1>${messages.tryIt}</h1>
${!account.suspended && html`<p class="lead">${messages.tryLead(formats.number(creditsLeft(account)))}</p>`}
${failureNotice(refusal?.message)}
<form class="card try-form" method="post" action="${tools.base}/try" role="search">
  ${tokenField(context)}
  ${field({
    name: 'q',
    label: messages.tryLabel,
    type: 'search',
    value: queryOf(context),
    maxLength: MAX_QUERY,
    hint: messages.searchHint,
    focus: tried === null,
    fault: refusal?.faults?.q,
  })}
  <div class="actions">
    ${button('search', messages.search)}
    ${button('match', messages.searchWords, 'quiet')}
    ${button('lookup', messages.lookUp, 'quiet')}
    ${isSpent && !account.suspended && moreCredits(context)}
  </div>
</form>
${tried !== null && (await triedCall(context, tried))}`;
  return memberPage(context, { title: messages.tryIt, body, ...refusal });
}

type FoundCompany = SearchAnswer['data'][number];

interface Tried {
  kind: 'search' | 'match' | 'lookup';
  address: string;
  durationMs: number;
  answer: Answer;
  cost: Cost;
}

/** The call as a program would send it, and its answer: its meaning first, then its headers and its JSON. */
async function triedCall(context: MemberContext, tried: Tried): Promise<Html> {
  const { messages, formats, tools } = context;
  const { kind, answer, cost, address, durationMs } = tried;
  const response = responseTo(tools.publicUrl, answer);
  const { status } = response;
  const headers = [...response.headers].map(([name, value]) => html`<span>${name}:</span> ${value}\n`);
  const json = (await response.json()) as { data: unknown };
  const entries = answer.ok && kind !== 'lookup' ? (json.data as FoundCompany[]) : null;
  const count = entries !== null && html` · ${messages.companyCount(String(entries.length))}`;
  const spent =
    cost.credits === 0 ? messages.noCreditSpent : messages.creditsSpent(formats.number(cost.credits));
  return html`
<section class="card" aria-labelledby="answer-title" data-forget-form>
  <div class="heading">
    <h2 id="answer-title" tabindex="-1" autofocus>${messages.answer}</h2>
    <span class="badge ${status < 400 ? 'good' : 'bad'}" role="status">${status}${count}</span>
  </div>
  <p class="hint">${messages.took(formats.number(Math.max(1, Math.round(durationMs))))} · ${spent}</p>
  ${!answer.ok && callProblem(context, answer.problem)}
  ${entries !== null && entries.length > 0 && found(context, entries)}
  ${answer.ok && kind === 'lookup' && (await details(context, json.data as Company))}
  <details>
    <summary>${messages.headersAndJson}</summary>
    <pre class="headers" tabindex="0">${headers}</pre>
    ${copyable(messages, { id: 'answer-json', label: 'JSON', text: JSON.stringify(json, null, 2) })}
  </details>
</section>
<section class="card" aria-labelledby="request-title">
  <h2 id="request-title">${messages.request}</h2>
  ${copyable(messages, { id: 'request', label: messages.request, text: curl({ address }) })}
</section>`;
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
  const debt = (bracket: Company['tax_debt'], dataset?: DebtDataset | null) => {
    // Without a dataset nothing is known about debts.
    if (bracket === null) return dataset == null ? messages.dataNone : messages.noBracket;
    return html`${bracketText(context, bracket)}, ${messages.dataOf} ${dateOf(formats, bracket.last_updated)}`;
  };
  const amount = Number(capital);
  const money =
    capital_currency === 'EUR' ? formats.euros(amount) : `${formats.number(amount)} ${capital_currency}`;
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
    [messages.capital, amount > 0 && money],
    [messages.dataTax, debt(company.tax_debt, datasets?.debts.tax)],
    [messages.dataSocialSecurity, debt(company.social_security_debt, datasets?.debts['social-security'])],
  ];
  return facts(rows.map(([label, value]) => [label, value || '–']));
}
