/**
 * The API for agents, over the Model Context Protocol: `tools.ts` has the tools, `call.ts` how one is called, `sdk.ts` everything else.
 *
 * A call of a tool is one run of the pipeline with a request of the tool's route, so it costs and counts what that does. The SDK could
 * answer calls, too, but a lookup takes 213 µs then instead of 47 (docs/field-notes.md).
 */
import { INVALID_KEY, identityOf } from '../admission/identity.ts';
import type { Handler, Pipeline } from '../admission/pipeline.ts';
import { unauthorized } from '../admission/refusals.ts';
import { type Answer, ok, okJson, problem, unavailable, withHeaders } from '../http/answer.ts';
import { type ApiRoute, BASE_PATH, templateOf } from '../http/api-route.ts';
import { readJson } from '../http/body.ts';
import type { RequestTrace } from '../http/observe.ts';
import { PROBLEMS } from '../http/problems.ts';
import { requestOf } from '../http/request-of.ts';
import { bearerSecret } from '../keys/authenticate.ts';
import { callOf, type ToolCall, writeResult } from './call.ts';
import { tooManyItems } from './tools.ts';

interface McpParts {
  publicUrl: string;
  pipeline: Pipeline;
  handlers: Map<ApiRoute, Handler>;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/** The headers of a call that its route reads, too. */
function forwarded(headers: Headers): Record<string, string> {
  const names = ['authorization', 'idempotency-key'].filter((name) => headers.has(name));
  return Object.fromEntries(names.map((name) => [name, headers.get(name)!]));
}

/** @returns a function that answers a POST to `/mcp` */
export function createMcp({ publicUrl, pipeline, handlers, stopping }: McpParts) {
  const { hostname } = new URL(publicUrl);

  return async (request: Request, trace: RequestTrace): Promise<Answer | Response> => {
    const { headers } = request;
    const origin = headers.get('origin');
    if (origin !== null && URL.parse(origin)?.hostname !== hostname)
      return new Response(null, { status: 403 });
    if (bearerSecret(headers.get('authorization')) === null) return unauthorized();
    const body = await readJson(request, stopping);
    if (body === 'unread') return unavailable('The request was not read to its end.');
    // A batch would be several calls for one token. The protocol has had none since 2025-06-18.
    const message = Array.isArray(body.json) ? null : body.json;
    const call = callOf(message, headers);
    return call === null ? answerMessage(request, message, trace) : answerCall(call, request, trace);
  };

  /** A call takes the way of a request of its route. If the tool refuses its input, it costs what the route takes for that. */
  async function answerCall(
    call: ToolCall,
    { headers, signal }: Request,
    trace: RequestTrace,
  ): Promise<Answer> {
    const { route, name } = call.tool;
    const sent = requestOf(route, call.input, forwarded(headers), signal);
    const body = headers.has('idempotency-key') ? JSON.stringify(call.input) : '';
    const identify = (accountId: string) => identityOf(sent, accountId, body);
    const refusal = tooManyItems(call.tool, call.input) ?? (identify('') === null ? INVALID_KEY : null);
    const refusing = { charge: route.charge, handle: async () => problem('validation', refusal!) };
    const handler = { ...(refusal === null ? handlers.get(route)! : refusing), tellsLeft: true, identify };
    const answer = await pipeline.serve(sent, trace, handler);
    const [status, error] = answer.ok ? [200] : [PROBLEMS[answer.problem.kind].status, answer.problem.cause];
    trace.call = { tool: name, route: BASE_PATH + templateOf(route.path), status, error };
    if (!answer.ok && answer.problem.kind === 'unauthorized') return answer;
    const { headers: answered } = answer.ok ? answer : answer.problem;
    return okJson(writeResult(call, answer, publicUrl, trace.creditsLeft ?? null), answered);
  }

  /** Any other message costs a token. The SDK takes 5 MB, so it is loaded for the first of them. */
  async function answerMessage(request: Request, message: unknown, trace: RequestTrace) {
    let response = new Response();
    const answer = await pipeline.serve(request, trace, {
      charge: null,
      async handle() {
        const { converse } = await import('./sdk.ts');
        response = await converse(request, message);
        return ok(null, { 'Cache-Control': 'private, no-store' });
      },
    });
    return answer.ok ? withHeaders(response, answer.headers) : answer;
  }
}
