import { lookupRoute } from '../../companies/lookup/route.ts';
import { matchesRoute } from '../../companies/matches/route.ts';
import { isValidNif, normalizeNif } from '../../companies/nif.ts';
import { searchRoute } from '../../companies/search/route.ts';
import { creditsLeft } from '../../metering/accounts/store.ts';
import { isFirstSending } from '../auth/limits.ts';
import type { MemberContext, PageResponse } from '../context.ts';
import { EXAMPLE_QUERY } from '../reference/code-samples.ts';
import { TOKEN_FIELD } from '../request/csrf.ts';
import { failureNotice, field, formHandlers, type Refusal, refuse, tokenField } from '../request/forms.ts';
import { memberPage } from '../request/layout.ts';
import { html } from '../ui/html.ts';
import { moreCredits } from '../ui/parts.ts';
import { callRefusal, makeOwnCall } from './own-call.ts';
import { type Tried, triedCall } from './try-answer.ts';

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
    return showTry(fresh, null, { kind, query, address, durationMs, answer, cost });
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
    placeholder: EXAMPLE_QUERY,
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
