import type { Problem, ProblemName } from './problems.ts';

/** The answer of a handler: a success with its body as JSON text, or a problem. */
export type Answer =
  | {
      ok: true;
      json: string;
      headers?: Record<string, string>;
      /** The problems among the items of a batch lookup. */
      itemProblems?: ProblemName[];
    }
  | ProblemAnswer;

export interface ProblemAnswer {
  ok: false;
  problem: Problem;
}

/** Headers of every API answer (contract: no CORS headers). */
export const API_HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'private, no-store',
  'X-Content-Type-Options': 'nosniff',
};

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

/** The 503 of a dependency that is away, or of an overloaded service. No credit was spent. */
export function unavailable(detail: string, cause?: unknown): ProblemAnswer {
  return problem('service-unavailable', detail, { headers: { 'Retry-After': '1' }, cause });
}

/** @param allow the methods that the path has, as `Allow` lists them */
export function methodNotAllowed(allow: string): ProblemAnswer {
  return problem('method-not-allowed', undefined, { headers: { Allow: allow } });
}
