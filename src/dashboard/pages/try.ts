import { isValidNif, normalizeNif } from '../../companies/nif.ts';
import type { CallKind } from '../../credits/calls.ts';
import type { Answer } from '../../http/answer.ts';
import { problemResponse } from '../../http/problems.ts';
import type { SearchAnswer } from '../../search/schema.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { isFirstSending } from '../request/once.ts';
import type { MemberVisit, Reply } from '../request/visit.ts';
import { type Html, html } from '../ui/html.ts';
import { alert, awaitsConfirmation, memberPage, token } from '../ui/layout.ts';
import { availableCredits } from '../usage/figures.ts';

const MAX_QUERY = 500;

/** A call that was made, as it is shown. */
interface Tried {
  kind: CallKind;
  address: string;
  status: number;
  headers: [name: string, value: string][];
  body: string;
  /** What a search found; null for a lookup or a failure. */
  entries: SearchAnswer['data'] | null;
}

/** GET /dashboard/try */
export async function showTry(visit: MemberVisit): Promise<Reply> {
  return tryPage(visit, null);
}

/** What was asked for, cut to length, and never in the middle of a surrogate pair: half of one can't be escaped. */
function queryOf({ fields }: MemberVisit): string {
  return fields('q')
    .slice(0, MAX_QUERY)
    .replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * POST /dashboard/try: the same pipeline as a call with a key, for the member's account. It costs a token and a credit, and
 * its answer is shown whatever it is. What the API would refuse as `validation` is no call and costs nothing.
 */
export async function tryCall(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, fields, account, trace } = visit;
  if (account.suspended) return tryPage(visit, null, { status: 403, message: texts.suspended });
  if (awaitsConfirmation(visit)) return tryPage(visit, null, { status: 403, message: texts.confirmToTry });
  const kind: CallKind = fields('kind') === 'lookup' ? 'lookup' : 'search';
  const query = queryOf(visit);
  // The API would answer 400 and charge it: a slip of the finger is not to cost a credit here.
  const slip = slipOf(visit, kind, query.trim());
  if (slip !== null) return tryPage(visit, null, { status: 422, message: slip });
  if (!(await isFirstSending(tools.sql, fields(TOKEN_FIELD)))) {
    return tryPage(visit, null, { status: 409, message: texts.triedAlready });
  }
  const path = kind === 'search' ? `?q=${encodeURIComponent(query)}` : `/${encodeURIComponent(query.trim())}`;
  const address = `${tools.publicUrl}/api/v1/companies${path}`;
  const answer = await tools.pipeline.serve(
    new Request(address),
    trace,
    kind === 'search' ? tools.search : tools.lookup,
    { keyId: '', accountId: account.id, requestsPerMinute: account.requestsPerMinute },
  );
  const tried = await describe(tools.publicUrl, kind, address, answer);
  return tryPage({ ...visit, account: await tools.readAccount(account.id) }, tried);
}

/** Why the API would refuse the query with 400; null when it would not. */
function slipOf({ texts }: MemberVisit, kind: CallKind, query: string): string | null {
  if (kind === 'search') return query === '' ? texts.queryMissing : null;
  const nif = normalizeNif(query);
  if (nif === null) return texts.nifMissing;
  return isValidNif(nif) ? null : texts.nifWrong;
}

async function describe(publicUrl: string, kind: CallKind, address: string, answer: Answer): Promise<Tried> {
  const response = answer.ok
    ? new Response(answer.json, {
        headers: { 'Content-Type': 'application/json', ...answer.headers },
      })
    : problemResponse(publicUrl, answer.problem);
  return {
    kind,
    address,
    status: response.status,
    headers: [...response.headers].map(([name, value]) => [titleCase(name), value]),
    body: JSON.stringify(await response.json(), null, 2),
    entries: answer.ok && kind === 'search' ? (JSON.parse(answer.json) as SearchAnswer).data : null,
  };
}

function titleCase(name: string): string {
  const known = /^ratelimit-/.test(name) ? name.replace('ratelimit', 'RateLimit') : name;
  return known.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}

async function tryPage(
  visit: MemberVisit,
  tried: Tried | null,
  refusal: { status: number; message: string } | null = null,
): Promise<Reply> {
  const { texts, formats, tools, account } = visit;
  const body = html`
<h1>${texts.tryTitle}</h1>
<p class="lead">${texts.tryLead(formats.number(availableCredits(account)))}</p>
${alert(refusal?.message ?? null)}
<form class="card try-form" method="post" action="${tools.base}/try" role="search">
  ${token(visit)}
  <div class="field">
    <label for="q">${texts.tryLabel}</label>
    <input id="q" name="q" type="search" value="${queryOf(visit)}" maxlength="${MAX_QUERY}" required placeholder="${await tools.exampleQuery()}" autocomplete="off" spellcheck="false"${tried === null && html` autofocus`}>
  </div>
  <div class="actions">
    <button type="submit" name="kind" value="search">${texts.search} <small>${texts.costs}</small></button>
    <button class="second" type="submit" name="kind" value="lookup">${texts.lookUp} <small>${texts.costs}</small></button>
  </div>
</form>
${
  tried === null
    ? html`<div class="card empty"><h2>${texts.tryEmpty}</h2><p>${texts.tryEmptyLead}</p></div>`
    : result(visit, tried)
}`;
  return memberPage(visit, {
    section: '/try',
    title: texts.tryTitle,
    body,
    ...(refusal !== null && { status: refusal.status }),
  });
}

function result(visit: MemberVisit, tried: Tried): Html {
  const { texts } = visit;
  const curl = `curl -H "Authorization: Bearer $API_KEY" \\\n  '${tried.address.replaceAll("'", '%27')}'`;
  return html`
<section class="card" aria-labelledby="request-title" data-forget-form>
  <h2 id="request-title">${texts.request}</h2>
  <div class="copyable">
    <pre id="request" tabindex="0">${curl}</pre>
    <button class="small" type="button" data-copy="request" data-copied="${texts.copied}" hidden>${texts.copy}</button>
  </div>
</section>
<section class="card" aria-labelledby="answer-title">
  <div class="heading">
    <h2 id="answer-title">${texts.answer}</h2>
    <span class="badge ${tried.status < 400 ? 'good' : 'bad'}" role="status">${tried.status}${
      tried.entries !== null && html` · ${texts.found(tried.entries.length)}`
    }</span>
  </div>
  ${tried.entries !== null && tried.entries.length > 0 && found(visit, tried.entries)}
  <pre class="headers" tabindex="0">${tried.headers.map(([name, value]) => html`<span>${name}:</span> ${value}\n`)}</pre>
  <pre class="json" tabindex="0">${tried.body}</pre>
</section>`;
}

function found({ texts }: MemberVisit, entries: SearchAnswer['data']): Html {
  return html`
<div class="scroll" tabindex="0" role="region" aria-label="${texts.answer}">
<table>
  <thead><tr><th scope="col">NIF</th><th scope="col">${texts.legalName}</th></tr></thead>
  <tbody>${entries.map((entry) => html`<tr><td><code>${entry.nif}</code></td><td>${entry.legal_name}</td></tr>`)}</tbody>
</table>
</div>`;
}
