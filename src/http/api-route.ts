/**
 * HTTP: the declaration of an endpoint (here), answers and problems (`answer.ts`, `problems.ts`), the reference (`openapi.ts`), and
 * the log line of each request (`observe.ts`). Routes know nothing of SQL; every failure is a problem of the catalogue.
 */
import type { TObject, TSchema } from '@sinclair/typebox';
import { Type } from '@sinclair/typebox';
import type { CallKind } from './call-kind.ts';
import { enumeration } from './enumeration.ts';
import { PROBLEMS, type ProblemName } from './problems.ts';
import type { Right } from './right.ts';

/** The path that `{base_url}` ends with (specification, Versioning). */
export const BASE_PATH = '/api/v1';

/** The address of the same API for agents (src/mcp). */
export const MCP_PATH = '/mcp';

/** The form of the header `Idempotency-Key`, which every POST takes (docs/api.md: Idempotency-Key). */
export const IDEMPOTENCY_KEY = '^[A-Za-z0-9_-]{1,64}$';

/** Answers to a known caller have it: the credits that this sending was charged, less those refunded (docs/api.md: headers). */
export const CREDITS_HEADER = 'X-Credits';

/** Answers to a test key have it, once the request was given a token or refused one. */
export const TEST_KEY_HEADER = 'X-Test-Key';

/** Problems that the pipeline itself can answer, before the handler runs. */
const PIPELINE_PROBLEMS: ProblemName[] = [
  'unauthorized',
  'rate-limit-exceeded',
  'authentication-failed',
  'service-unavailable',
  'internal-error',
];

/** The members of a problem that is the whole answer or that of an item. */
export const PROBLEM_MEMBERS = {
  type: Type.String({ format: 'uri', description: 'Identifies the kind; the address of a page about it.' }),
  title: Type.String({ description: 'The kind in words.' }),
  status: Type.Integer({ description: 'The status of the kind.' }),
  detail: Type.String({
    description: 'What happened this time. Tell problems apart by `type`: texts may change.',
  }),
  buy: Type.Optional(
    Type.String({
      format: 'uri',
      description: 'Where the account buys credits, if the service has such an address.',
    }),
  ),
  quota: Type.Optional(
    Type.Literal('monthly_credits', {
      description: 'In `monthly-quota-exceeded`, as `limit` and `reset`.',
    }),
  ),
  scope: Type.Optional(
    enumeration(['key', 'account'], 'In `rate-limit-exceeded`: whose limit refused the request.'),
  ),
  limit: Type.Optional(
    Type.Integer({ description: 'The included allowance; absent for a key that has some permissions only.' }),
  ),
  reset: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When the included credits come back, or those of the key, UTC.',
    }),
  ),
};

export const ProblemSchema = Type.Object(
  {
    ...PROBLEM_MEMBERS,
    oldest: Type.Optional(
      Type.String({
        description:
          'In `changes-expired` and `activity-expired`: the cursor after which all that is kept follows.',
      }),
    ),
  },
  { $id: 'Problem' },
);

/**
 * The declaration of an endpoint, for its route and the reference (openapi.ts). A body is checked by its schema (body-check.ts).
 * Nothing is validated before the token, because bad input is charged (specification, Endpoints).
 */
export interface ApiRoute {
  /** The right that a key needs; `null` means that the route is open to every key. */
  right: Right | null;
  /** Absent means `GET`. */
  method?: 'GET' | 'POST';
  /** Below `/api/v1`, with `:parameters`. */
  path: string;
  /** Each property has a `description` and an example. */
  query?: TObject;
  params?: TObject;
  /**
   * The JSON that the request carries, with an example. Its properties have a `description`. It takes no other ones, because a
   * misspelt filter would be a request about all companies, and be paid for.
   */
  body?: TObject;
  /** The faults that make a request invalid, beside its body and its `Idempotency-Key`, in words. */
  invalid?: string;
  /** The body of the 200. */
  success: TSchema;
  /** The body of the 200 in the reference, if it is about the account; of other routes it is the answer to a test key. */
  exampleAnswer?: unknown;
  /** Headers of the success beyond those that every answer has. */
  successHeaders?: Record<string, string>;
  /** Headers that only some successes have. */
  optionalHeaders?: Record<string, string>;
  /** Problems beyond those of the pipeline. */
  problems: ProblemName[];
  /** The kind of call that the credit pays for; `null` means that it costs none. */
  charge: CallKind | null;
  /** The cost of a call, in words. By default one credit, or none without a `charge`. */
  cost?: string;
  /** `pt` has the headings of the reference in Portuguese: the summary, and the cost. */
  detail: {
    operationId: string;
    summary: string;
    description: string;
    pt: { summary: string; cost: string };
  };
}

/** Every problem that a route can answer. */
export function problemsOf({ problems, charge, right }: ApiRoute): ProblemName[] {
  return [
    ...problems,
    ...PIPELINE_PROBLEMS,
    ...(right === null ? [] : (['not-permitted'] as const)),
    ...(charge === null ? [] : UNPAID),
  ];
}

/** Problems of a call, or of an item, for which the credits did not suffice: the account's, or those of its key. */
export const UNPAID = [
  'monthly-quota-exceeded',
  'key-budget-exceeded',
  'key-budget-spent',
] as const satisfies ProblemName[];

/** The statuses of these problems. */
export function statusesOf(route: ApiRoute): number[] {
  return [...new Set(problemsOf(route).map((kind) => PROBLEMS[kind].status))].sort();
}

export const methodOf = ({ method = 'GET' }: ApiRoute) => method;

/** The endpoint as the activity of an account names it, e.g. `GET /companies/{nif}`. */
export const endpointOf = (route: ApiRoute) => `${methodOf(route)} ${templateOf(route.path)}`;

/** The cost of a call, in words. */
export function costOf({ charge, cost }: ApiRoute): string {
  return cost ?? (charge === null ? 'no credit' : 'one credit');
}

/** The route's path with `{parameters}`, as logs, metrics and the reference show it. */
export function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}
