import { isValidNif, normalizeNif } from '../../companies/nif.ts';
import type { CallKind } from '../../credits/calls.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { isFirstSending } from '../request/once.ts';
import type { MemberVisit, Reply } from '../request/visit.ts';
import { html } from '../ui/html.ts';
import { alert, awaitsConfirmation, field, memberPage, token } from '../ui/layout.ts';
import { availableCredits } from '../usage/usage-summary.ts';
import { describeAnswer, type Tried, triedCall } from './try-answer.ts';

const MAX_QUERY = 500;

/** GET /dashboard/try */
export async function showTry(visit: MemberVisit): Promise<Reply> {
  return tryPage(visit, null);
}

/**
 * What was asked for, of the form or of a link: cut to length, and never in the middle of a surrogate pair, because half of one
 * can't be escaped. `lookup` is the NIF of a button beside a company that was found.
 */
function queryOf({ fields, url }: MemberVisit): string {
  return (fields('lookup') || fields('q') || (url.searchParams.get('q') ?? ''))
    .slice(0, MAX_QUERY)
    .replace(/[\uD800-\uDBFF]$/, '');
}

/**
 * POST /dashboard/try: the same pipeline as a call with a key, for the member's account. It costs a token and a credit, and
 * its answer is shown whatever it is. What the API would refuse as `validation` is no call and costs nothing.
 */
export async function tryCall(visit: MemberVisit): Promise<Reply> {
  const { tools, texts, fields, account, trace } = visit;
  if (account.suspended) return tryPage(visit, null, { status: 403, message: null });
  if (awaitsConfirmation(visit)) return tryPage(visit, null, { status: 403, message: texts.confirmToTry });
  const isLookup = fields('kind') === 'lookup' || fields('lookup') !== '';
  const kind: CallKind = isLookup ? 'lookup' : 'search';
  const query = queryOf(visit);
  // The API would answer 400 and charge it: a slip of the finger is not to cost a credit here.
  const slip = slipOf(visit, kind, query.trim());
  if (slip !== null) return tryPage(visit, null, { status: 422, message: slip, isSlip: true });
  if (!(await isFirstSending(tools.sql, fields(TOKEN_FIELD)))) {
    return tryPage(visit, null, { status: 409, message: texts.triedAlready });
  }
  const path = kind === 'search' ? `?q=${encodeURIComponent(query)}` : `/${encodeURIComponent(query.trim())}`;
  const address = `${tools.publicUrl}/api/v1/companies${path}`;
  const startedAt = performance.now();
  const answer = await tools.pipeline.serve(
    new Request(address),
    trace,
    kind === 'search' ? tools.search : tools.lookup,
    { keyId: '', accountId: account.id, requestsPerMinute: account.requestsPerMinute },
  );
  const durationMs = performance.now() - startedAt;
  const tried = await describeAnswer(tools.publicUrl, { kind, address, durationMs }, answer);
  return tryPage({ ...visit, account: await tools.readAccount(account.id) }, tried);
}

/** Why the API would refuse the query with 400; null when it would not. */
function slipOf({ texts }: MemberVisit, kind: CallKind, query: string): string | null {
  if (kind === 'search') return query === '' ? texts.queryMissing : null;
  const nif = normalizeNif(query);
  if (nif === null) return texts.nifMissing;
  return isValidNif(nif) ? null : texts.nifWrong;
}

async function tryPage(
  visit: MemberVisit,
  tried: Tried | null,
  refusal: { status: number; message: string | null; isSlip?: boolean } | null = null,
): Promise<Reply> {
  const { texts, formats, tools, account } = visit;
  const body = html`
<h1>${texts.tryTitle}</h1>
${!account.suspended && html`<p class="lead">${texts.tryLead(formats.number(availableCredits(account)))}</p>`}
${alert(refusal !== null && !refusal.isSlip ? refusal.message : null)}
<form class="card try-form" method="post" action="${tools.base}/try" role="search">
  ${token(visit)}
  ${field({
    name: 'q',
    label: texts.tryLabel,
    type: 'search',
    value: queryOf(visit),
    maxLength: MAX_QUERY,
    placeholder: await tools.exampleQuery(),
    autocomplete: 'off',
    focus: tried === null,
    ...(refusal?.isSlip && { fault: refusal.message }),
  })}
  <div class="actions">
    <button type="submit" name="kind" value="search">${texts.search} <small>${texts.costs}</small></button>
    <button class="second" type="submit" name="kind" value="lookup">${texts.lookUp} <small>${texts.costs}</small></button>
  </div>
</form>
${
  tried === null
    ? html`<div class="card empty"><h2>${texts.tryEmpty}</h2><p>${texts.tryEmptyLead}</p></div>`
    : triedCall(visit, tried)
}`;
  return memberPage(visit, {
    section: '/try',
    title: texts.tryTitle,
    body,
    ...(refusal !== null && { status: refusal.status }),
  });
}
