/** One kind of failure, for the reference and the problem's page. */
export interface ProblemKind {
  status: number;
  title: string;
  cause: string;
  /** The remedy for the consumer. */
  fix: string;
}

/**
 * The catalogue of all problems that the service answers: the specification's kinds first, then ours (docs/api.md: problems).
 */
export const PROBLEMS = {
  validation: {
    status: 400,
    title: 'The request is not valid',
    cause:
      'A search came without `q` or with only white space in it, or the NIF of a lookup is not nine digits (without `PT`) with a right check digit, or the body of a request for several companies, for several names or for changes is not the JSON that the endpoint takes, or `Idempotency-Key` is not 1 to 64 letters, digits, `_` and `-`, or `after` of `/activity` is not the `next` of an earlier answer.',
    fix: 'Correct what the detail names: it says what is allowed. The request has cost its credit, unless its endpoint is free.',
  },
  unauthorized: {
    status: 401,
    title: 'The API key is missing or not valid',
    cause:
      'The `Authorization` header is missing or not of the form `Bearer <API_KEY>`, or the key is unknown, revoked or expired, or its account is suspended.',
    fix: 'Send `Authorization: Bearer svc_…` with an active key. The dashboard says what ended a key or suspended an account, since when, and why. Nothing was charged.',
  },
  'company-not-found': {
    status: 404,
    title: 'There is no such company',
    cause: 'A source says definitely that no company has this NIF.',
    fix: 'Check the NIF with its source. The request has cost its credit.',
  },
  'changes-expired': {
    status: 410,
    title: 'The changes after this cursor are no longer kept',
    cause:
      'Changes of debts are kept for 90 days, and some that follow the cursor `after` are older. Answers from there on would leave them out.',
    fix: 'Screen your companies again (`POST /debts`, for agents `check_debts`), and go on from the cursor `oldest`, which is in the problem. Nothing was charged.',
  },
  'activity-expired': {
    status: 410,
    title: 'The activity after this cursor is no longer kept',
    cause: 'Activity is kept for some days, and some rows that follow the cursor `after` are older.',
    fix: 'Go on from the cursor `oldest`, which is in the problem. The dashboard has the calls of each day before. Nothing was charged.',
  },
  'rate-limit-exceeded': {
    status: 429,
    title: 'Too many requests',
    cause:
      "The token bucket of the account is empty, or that of the key's share (`scope`): it refills continuously, at the requests per minute that `RateLimit-Limit` says.",
    fix: 'Wait the seconds that `Retry-After` says. Spread the requests, or ask for a plan or a share with a higher limit. Nothing was charged.',
  },
  'monthly-quota-exceeded': {
    status: 429,
    title: 'No credits left',
    cause:
      'The included allowance of the period is used up. There are no purchased credits, or the account is set not to spend them.',
    fix: 'Buy credits (at `buy`, if the problem has it), change the plan, or wait for `reset`. No credit was charged.',
  },
  'key-budget-exceeded': {
    status: 429,
    title: 'The budget of the key is used up',
    cause:
      'The key has a budget of credits for a day or a month (UTC), and has spent it. The account may have credits.',
    fix: 'Wait for `reset`, or ask the owner of the account for a higher budget or another key. No credit was charged.',
  },
  'key-budget-spent': {
    status: 403,
    title: 'The budget of the key is spent',
    cause: 'The key has a budget of credits that does not come back, and has spent it.',
    fix: 'Ask the owner of the account for a higher budget or another key. No credit was charged.',
  },
  'not-permitted': {
    status: 403,
    title: 'The key may not do this',
    cause: 'The key has some rights only, and this endpoint or tool is not among them.',
    fix: 'Ask the owner of the account for a key with this right. `GET /key` says which rights the key has. Nothing was charged.',
  },
  'authentication-failed': {
    status: 500,
    title: 'The key could not be checked',
    cause: 'The service could not look the key up just now. The key may well be valid.',
    fix: 'Try again shortly. Nothing was charged.',
  },
  'search-failed': {
    status: 500,
    title: 'The search failed',
    cause: 'The directory could not be searched just now.',
    fix: 'Try again shortly. The request has cost its credit.',
  },
  'company-lookup-failed': {
    status: 502,
    title: 'The company could not be looked up',
    cause:
      'There is no fresh record of this company, and no source could tell: they failed, were too slow, or did not know.',
    fix: 'Try again later. The request has cost its credit.',
  },
  'not-found': {
    status: 404,
    title: 'There is nothing at this address',
    cause: 'No endpoint exists at this path.',
    fix: 'See the reference at `/openapi`. Nothing was charged.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed',
    cause: 'The endpoint has another method, which `Allow` names.',
    fix: 'Use the method that `Allow` names. Nothing was charged.',
  },
  'service-unavailable': {
    status: 503,
    title: 'The service is not available just now',
    cause:
      'The credits of the account could not be counted, its usage, stored data or the directory could not be read, or the service is overloaded. Or the company has no fresh record, and the refreshes of the account or of all accounts are used up. Or the item of a batch lookup would be the eleventh company to refresh.',
    fix: 'Try again after the seconds that `Retry-After` says: until midnight (UTC) if refreshes of the day are used up. No credit was charged.',
  },
  'internal-error': {
    status: 500,
    title: 'Something went wrong here',
    cause: 'The service itself is at fault.',
    fix: 'Try again. If it stays, report it with the `X-Request-Id` of the answer. A request that was admitted has cost its credit.',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemName = keyof typeof PROBLEMS;

/** Why a problem was answered, if its kind leaves that open: what the activity keeps of a detail, which can hold a caller's text. */
export const REASONS = {
  nif: 'The NIF is not nine digits with a right check digit.',
  query: 'The query `q` is missing or blank.',
  name: 'A name is blank.',
  body: 'The body is not JSON, or is too large or too slow.',
  member: 'A member is missing, not known, or not what the endpoint takes.',
  'idempotency-key': '`Idempotency-Key` is not valid.',
  cursor: '`after` is not the `next` of an earlier answer.',
  'account-rate': 'The account has used up its requests per minute.',
  'key-rate': 'The key has used up its share of the requests per minute.',
  refreshes: 'The refreshes of companies are used up.',
  later: 'The request had no time or room left for it: ask for it again.',
  'under-way': 'An earlier sending with this `Idempotency-Key` is under way.',
  overloaded: 'The service is overloaded.',
} as const;

export type Reason = keyof typeof REASONS;

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** A failure that is about to be answered. */
export interface Problem {
  kind: ProblemName;
  /** The cause in this case, in our words only. By default the kind's cause. */
  detail?: string;
  reason?: Reason;
  /** The address where missing credits are bought. */
  buy?: string;
  /** Further members of the body, as `quota`, `limit`, `scope` and `reset`. */
  members?: Record<string, string | number>;
  headers?: Record<string, string>;
  /** The thrown error, for the log line alone. */
  cause?: unknown;
}

/** The `type` of a problem: the address of its page (docs/api.md: problems). */
export function problemType(publicUrl: string, kind: ProblemName): string {
  return `${publicUrl}/problems/${kind}`;
}

/** The members of a problem that is the whole answer or that of an item. */
export function problemBody(
  publicUrl: string,
  { kind, detail, buy }: Pick<Problem, 'kind' | 'detail' | 'buy'>,
) {
  const { status, title, cause } = PROBLEMS[kind];
  return {
    type: problemType(publicUrl, kind),
    title,
    status,
    detail: detail ?? cause,
    ...(buy !== undefined && { buy }),
  };
}

/** The body of a problem's answer. */
export function problemJson(publicUrl: string, problem: Problem): string {
  return JSON.stringify({ ...problemBody(publicUrl, problem), ...problem.members });
}

/** The sentence of a `fix` about a header. */
const ABOUT_RETRY_AFTER = /^[^.]*`Retry-After`[^.]*\. /;

/** The longest wait that an agent makes. It does not wait for a day to end: its user has to know. */
const LONGEST_WAIT_S = 60;

/** The sentence of a `fix` about the cost of a call that was charged. */
const ABOUT_COST = /[^.]* has cost its credit[^.]*\.$/;

/**
 * Tells a model about the problem and its remedy. A model sees no headers, but can tell its user.
 * @param isCharged whether the call was charged: one of a test key is not, nor is a repetition
 * @param requestId named in the text of a fault of the service, because the header is not seen
 */
export function explain(
  { kind, detail, headers, buy, members }: Problem,
  isCharged: boolean,
  requestId: string,
): string {
  const { title, status, cause, fix: general } = PROBLEMS[kind];
  const fix = isCharged ? general : general.replace(ABOUT_COST, ' No credit was charged.');
  const told = detail ?? cause;
  // A detail that ends with an example has no period.
  const named = status === 500 ? ` The \`X-Request-Id\` is ${requestId}.` : '';
  return `${title}. ${told}${told.endsWith('.') ? '' : '.'} ${remedy()}${named}`;

  function remedy(): string {
    if (status === 403 || kind === 'key-budget-exceeded') return `Stop, and tell the user. ${fix}`;
    if (kind === 'monthly-quota-exceeded') {
      const shop = buy === undefined ? 'buy credits' : `buy credits at ${buy}`;
      const ways =
        members?.limit === 0
          ? `${shop}, or to change the plan`
          : `${shop}, to change the plan, or to wait until then`;
      return `Stop, and tell the user to ${ways}. No credit was charged.`;
    }
    const waitS = headers?.['Retry-After'];
    if (waitS === undefined) return fix;
    const advice =
      Number(waitS) > LONGEST_WAIT_S
        ? `Stop, and tell the user that this works again within ${Math.ceil(Number(waitS) / 3600)} h.`
        : `Wait ${waitS} s, then call again.`;
    return `${advice} ${fix.replace(ABOUT_RETRY_AFTER, '')}`;
  }
}
