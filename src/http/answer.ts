import type { Problem } from './problems.ts';

/** What a handler answers: a success with its body, written as JSON, or a problem. */
export type Answer =
  | { ok: true; json: string; headers?: Record<string, string> }
  | { ok: false; problem: Problem };

/** A success. The caller names the type of its body, which is that of the reference. */
export function success<Body>(body: Body, headers?: Record<string, string>): Answer {
  return written(JSON.stringify(body), headers);
}

/** A success whose body is written already. */
export function written(json: string, headers?: Record<string, string>): Answer {
  return headers === undefined ? { ok: true, json } : { ok: true, json, headers };
}

export function failure(
  kind: Problem['kind'],
  detail?: string,
  more: Omit<Problem, 'kind' | 'detail'> = {},
): { ok: false; problem: Problem } {
  return { ok: false, problem: detail === undefined ? { kind, ...more } : { kind, detail, ...more } };
}
