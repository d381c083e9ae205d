import type { Problem } from './problems.ts';

/** What a handler answers: a success with its JSON body, or a problem. */
export type Answer<Body = unknown> =
  | { ok: true; body: Body; headers?: Record<string, string> }
  | { ok: false; problem: Problem };

export function success<Body>(body: Body, headers?: Record<string, string>): Answer<Body> {
  return headers === undefined ? { ok: true, body } : { ok: true, body, headers };
}

export function failure(
  kind: Problem['kind'],
  detail?: string,
  more: Omit<Problem, 'kind' | 'detail'> = {},
): { ok: false; problem: Problem } {
  return { ok: false, problem: detail === undefined ? { kind, ...more } : { kind, detail, ...more } };
}
