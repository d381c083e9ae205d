import { OVERLOADED } from '../../http/answer.ts';
import { type Problem, problemType } from '../../http/problems.ts';
import type { MemberContext } from '../page-context.ts';
import { problemText, prose } from '../reference/reference.ts';
import { type Html, html } from '../ui/html.ts';
import { moreCredits } from '../ui/parts.ts';
import { filled } from '../ui/state-text.ts';

/** The text of a problem of a member's own call: what happened, what it cost, and what to do next. Programs get its JSON. */
export function callProblem(context: MemberContext, problem: Problem): Html {
  const { messages, tools } = context;
  const { kind } = problem;
  const text = stateOf(context, problem) ?? explained(context, problem);
  const address = `${problemType(tools.root, kind)}?lang=${messages.language}`;
  return html`<p>${text} ${kind === 'monthly-quota-exceeded' && moreCredits(context)} <a href="${address}"><code>${kind}</code></a></p>`;
}

/** The state of the account or the service behind a problem; `null` if the problem is about the call itself. */
function stateOf({ messages, formats, account }: MemberContext, problem: Problem): string | null {
  const { states, language } = messages;
  const { kind, detail, headers = {} } = problem;
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
      if (detail === OVERLOADED) return filled(states.overloaded);
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
