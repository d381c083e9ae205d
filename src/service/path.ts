import type { Server } from 'bun';
import type { AnyElysia } from 'elysia';
import { type Answer, methodNotAllowed } from '../http/answer.ts';
import { templateOf } from '../http/api-route.ts';
import type { Observer, RequestTrace } from '../http/observe.ts';

export type Outcome = Answer | Response | Promise<Answer | Response>;

type AnswerRequest = (request: Request, trace: RequestTrace, server: Server<undefined> | null) => Outcome;

/**
 * Adds a path with the answers of its methods; all others get 405. It is one route for every method, because Elysia would answer HEAD by
 * the route of GET.
 *
 * The handler destructures what it uses, because Elysia reads its source. If one passes its whole context on, Elysia parses cookies, copies
 * headers and rebuilds every response (test/service/app.test.ts).
 */
export function addPath(
  app: AnyElysia,
  observer: Observer,
  path: string,
  answers: Record<string, AnswerRequest>,
): void {
  const template = templateOf(path);
  const allowed = Object.keys(answers).join(', ');
  app.all(
    path,
    ({ request, server }) =>
      observer.observe(request, template, (trace) => {
        const answer = answers[request.method];
        return answer === undefined ? methodNotAllowed(allowed) : answer(request, trace, server);
      }),
    { parse: 'none' },
  );
}
