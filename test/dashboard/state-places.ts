/** Each place that tells a state, as `states.test.ts` looks it up there. */
import type { STATE_TEXTS } from '../../src/dashboard/ui/states.ts';
import type { ProblemName } from '../../src/http/problems.ts';

export type State = keyof typeof STATE_TEXTS;

export type Place = 'overview' | 'keys' | 'try' | 'screen' | 'signIn' | 'mail' | 'problem';

/**
 * How a place says it. `notice`: above the page. `card`: a part of the page. `answer`: the answer to a call that is made there. `page`: in
 * place of the page. `problem` names it, and `mail` the one of MAILS (auth/mail-text.ts) with its stage. `none` is the reason why
 * the place says nothing.
 */
export type Shown =
  | 'notice'
  | 'card'
  | 'answer'
  | 'page'
  | { mail: string }
  | { problem: ProblemName }
  | { none: string };

const unsaid = (none: string) => ({ none });
const NO_ACCOUNT = unsaid('a visitor has no account');
const NO_MAIL = unsaid('it is over before a mail is read');
const ON_OVERVIEW = unsaid('the overview says it');
const ON_KEYS = unsaid('calls go on, so only the page of the keys says it');
const OF_CALLS = unsaid('no call is made there');

/** How the pages say it. Unless a state differs, calls are answered as before, and visitors see nothing of it. */
const onPages = (overview: Shown, keys: Shown, tryIt: Shown, screen: Shown, signIn: Shown = NO_ACCOUNT) => ({
  ...{ overview, keys, try: tryIt, screen, signIn },
  problem: unsaid('calls are answered as before') as Shown,
});
const NOTICE = onPages('notice', 'notice', 'notice', 'notice');
const CARD = onPages('card', ON_OVERVIEW, ON_OVERVIEW, ON_OVERVIEW);
const KEYS = onPages(ON_KEYS, 'card', ON_KEYS, ON_KEYS);
const CALL = { ...onPages(OF_CALLS, OF_CALLS, 'answer', 'answer'), mail: NO_MAIL };
const AWAY = { ...onPages('page', 'page', 'page', 'page', 'page'), mail: NO_MAIL };
const UNAVAILABLE = { problem: 'service-unavailable' } as const;
const UNAUTHORIZED = { problem: 'unauthorized' } as const;
const NO_CREDITS = { mail: { mail: 'usage 100%' }, problem: { problem: 'monthly-quota-exceeded' } } as const;

export const STATES: Record<State, Record<Place, Shown>> = {
  firstRequests: { ...CARD, mail: unsaid('the first mail confirms the address') },
  low: { ...NOTICE, mail: { mail: 'usage 80%' } },
  beyond: { ...NOTICE, mail: { mail: 'usage 100%' } },
  purchasedOnly: { ...CARD, mail: { mail: 'usage 100%' } },
  none: { ...NOTICE, ...NO_CREDITS },
  noneIncluded: { ...NOTICE, ...NO_CREDITS, mail: unsaid('no share of included credits was used') },
  switchedOff: { ...NOTICE, ...NO_CREDITS },
  lapsesSoon: { ...NOTICE, mail: { mail: 'plan week' } },
  lapsed: { ...NOTICE, mail: { mail: 'plan ended' } },
  tooManyKeys: { ...KEYS, mail: { mail: 'plan ended' } },
  suspended: { ...NOTICE, signIn: 'notice', mail: { mail: 'suspended' }, problem: UNAUTHORIZED },
  keyEndsSoon: { ...NOTICE, mail: { mail: 'keys week' } },
  keyEnded: { ...NOTICE, mail: { mail: 'keys expired' }, problem: UNAUTHORIZED },
  keyRotated: { ...KEYS, mail: unsaid('the page after the rotation says it') },
  postgresAway: { ...AWAY, problem: UNAVAILABLE },
  searchAway: {
    ...CALL,
    screen: unsaid('lists are read in Postgres'),
    problem: { problem: 'search-failed' },
  },
  overloaded: { ...AWAY, problem: UNAVAILABLE },
  limited: { ...CALL, problem: { problem: 'rate-limit-exceeded' } },
};
