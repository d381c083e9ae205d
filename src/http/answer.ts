import { isBug } from '../platform/errors.ts';
import { OverloadedError } from '../platform/runtime/timeout.ts';
import {
  PROBLEM_CONTENT_TYPE,
  PROBLEMS,
  type Problem,
  problemJson,
  REASONS,
  type Reason,
} from './problems.ts';

/** The answer of a handler: a success with its body as JSON text, or a problem. */
export type Answer =
  | {
      ok: true;
      json: string;
      headers?: Record<string, string>;
      /** The problems among the items of a list. */
      itemProblems?: Pick<Problem, 'kind' | 'reason'>[];
    }
  | ProblemAnswer;

export interface ProblemAnswer {
  ok: false;
  problem: Problem;
}

/** Headers of every API answer (docs/api.md: headers). Bun copies `Headers` in half the time of a plain object. */
const SUCCESS_HEADERS = new Headers({
  'Content-Type': 'application/json',
  'Cache-Control': 'private, no-store',
  'X-Content-Type-Options': 'nosniff',
});
const PROBLEM_HEADERS = new Headers(SUCCESS_HEADERS);
PROBLEM_HEADERS.set('Content-Type', PROBLEM_CONTENT_TYPE);

/** A success. The type of its body is the one of the reference. */
export function ok<Body>(body: Body, headers?: Record<string, string>): Answer {
  return okJson(JSON.stringify(body), headers);
}

/** A success whose body is JSON text already. */
export function okJson(json: string, headers?: Record<string, string>): Answer {
  return headers === undefined ? { ok: true, json } : { ok: true, json, headers };
}

export function problem(
  kind: Problem['kind'],
  detail?: string,
  more: Omit<Problem, 'kind' | 'detail'> = {},
): ProblemAnswer {
  return { ok: false, problem: detail === undefined ? { kind, ...more } : { kind, detail, ...more } };
}

/** The 503 of a dependency that is away, or of an overloaded service. No credit was charged. */
export function unavailable(detail: string, cause?: unknown, reason?: Reason): ProblemAnswer {
  const headers = { 'Retry-After': '1' };
  return problem('service-unavailable', detail, { headers, cause, ...(reason && { reason }) });
}

/** The 503 of an overloaded service. */
export const overloaded = (cause?: unknown) => unavailable(REASONS.overloaded[0], cause, 'overloaded');

/**
 * The answer when a dependency has failed: its own problem. Work that queued too long in this process is a 503, because it never
 * reached the dependency (docs/api.md: problems).
 * @throws an error of the language, which is a fault of this program
 */
export function failureAnswer(cause: unknown, itsProblem: ProblemAnswer): ProblemAnswer {
  if (isBug(cause)) throw cause;
  return cause instanceof OverloadedError ? overloaded(cause) : itsProblem;
}

/** @param allow the methods that the path has, as `Allow` lists them */
export function methodNotAllowed(allow: string): ProblemAnswer {
  return problem('method-not-allowed', undefined, { headers: { Allow: allow } });
}

/**
 * The response of an answer; a problem as RFC 9457 has it. Further headers are set on the response, because headers that a
 * constructor gets are copied once more.
 */
export function responseTo(publicUrl: string, answer: Answer): Response {
  if (answer.ok) return withHeaders(new Response(answer.json, { headers: SUCCESS_HEADERS }), answer.headers);
  const { status } = PROBLEMS[answer.problem.kind];
  const response = new Response(problemJson(publicUrl, answer.problem), { status, headers: PROBLEM_HEADERS });
  return withHeaders(response, answer.problem.headers);
}

/** @returns the same response */
export function withHeaders(response: Response, headers: Record<string, string> = {}): Response {
  for (const name in headers) response.headers.set(name, headers[name]!);
  return response;
}
