import { isFree } from '../../http/error-kind.ts';
import type { ItemProblem } from '../../http/list-schema.ts';
import { type Problem, type ProblemName, problemType } from '../../http/problems.ts';
import type { MemberContext, PageContext } from '../context.ts';
import { problemText, prose } from '../reference/reference.ts';
import { type Html, html, moreCredits } from '../ui/html.ts';
import { filled } from '../ui/states.ts';

/** The text of a problem of a member's own call: what happened, what it cost, and what to do next. Programs get its JSON. */
export function callProblem(context: MemberContext, problem: Problem): Html {
  const { kind } = problem;
  const text = stateOf(context, problem) ?? explained(context, problem);
  return html`<p>${text} ${kind === 'monthly-quota-exceeded' && moreCredits(context)} ${problemLink(context, kind)}</p>`;
}

/** A link to the page of a problem. */
export function problemLink({ messages, tools }: MemberContext, kind: ProblemName): Html {
  return html`<a href="${problemType(tools.root, kind)}?lang=${messages.language}"><code>${kind}</code></a>`;
}

/** The kind of an item's problem, which its JSON has as an address. */
export const kindOf = ({ type }: Pick<ItemProblem, 'type'>): ProblemName =>
  type.slice(type.lastIndexOf('/') + 1) as ProblemName;

/** The text of the problem of a list's item, in the words of a call's: what happened, and whether the item was charged. */
export function itemProblem({ messages }: MemberContext, kind: ProblemName): string {
  const { states, language } = messages;
  const happened =
    kind === 'search-failed' ? states.searchAway.happened : `${problemText(kind, language).title}.`;
  return `${happened} ${isFree(kind) ? messages.itemFree : messages.itemCharged}`;
}

/** The state of the account or the service behind a problem; `null` if the problem is about the call itself. */
function stateOf({ messages, formats, account }: MemberContext, problem: Problem): string | null {
  const { states, language } = messages;
  const { kind, reason, headers = {} } = problem;
  const waitS = headers['Retry-After'] ?? '1';
  switch (kind) {
    // The notice above says since when, until when, and what to do.
    case 'monthly-quota-exceeded':
      return `${problemText(kind, language).title}.`;
    case 'rate-limit-exceeded':
      return filled(states.limited, [formats.number(account.requestsPerMinute)], [], [waitS]);
    case 'search-failed':
      return filled(states.searchAway);
    case 'service-unavailable':
      if (reason === 'overloaded') return filled(states.overloaded);
      // A longer wait is for refreshes of companies, which the problem explains.
      return waitS === '1' ? filled(states.postgresAway) : null;
    default:
      return null;
  }
}

function explained({ messages }: MemberContext, { kind }: Problem): Html {
  const { title, cause, fix } = problemText(kind, messages.language);
  return html`<strong>${title}.</strong> ${prose(cause)} ${prose(fix)}`;
}

/** A bracket of debt in words: `€7,500 to €25,000`. */
export function bracketText(
  { messages, formats }: PageContext,
  { start, end }: { start: number; end: number | null },
): string {
  const from = formats.euros(start);
  return end === null ? messages.openBracket(from) : messages.bracket(from, formats.euros(end));
}
