/**
 * The API for agents, over the Model Context Protocol: `tools.ts` has the tools, and `sdk.ts` the protocol.
 *
 * A message is one run of the pipeline. The call of a tool has the quote of the tool's route, so it costs and counts what a request
 * does; any other message costs its token.
 */

import { type Answer, ok, withHeaders } from '../http/answer.ts';
import { type ApiRoute, BASE_PATH, MCP_PATH, templateOf } from '../http/api-route.ts';
import { readJson } from '../http/body.ts';
import type { RequestTrace } from '../http/observe.ts';
import { explain, PROBLEMS, type ProblemName, problemJson } from '../http/problems.ts';
import { permits } from '../http/right.ts';
import { quoteOnce } from '../metering/admission/face.ts';
import type { Pipeline } from '../metering/admission/pipeline.ts';
import { free, type Handler, type Quote } from '../metering/admission/quote.ts';
import { notPermitted } from '../metering/admission/refusals.ts';
import { bearerToken } from '../metering/keys/authenticate.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { callIdOf, isShort } from './refused-call.ts';
import { challengeOf } from './resource.ts';
import type { Conversation } from './sdk.ts';
import { seenBy, toolsOf } from './tools.ts';
import { isTooWide, MAX_VALUES } from './width.ts';

export interface McpParts {
  publicUrl: string;
  pipeline: Pipeline;
  handlers: ReadonlyMap<ApiRoute, Handler>;
  metrics: Metrics;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/** A request that has its answer. */
interface Ended {
  /** Credits that the account can still spend; `null` means that the call asked for none. */
  left: number | null;
  /** The route that has answered a call. */
  route: ApiRoute | undefined;
  request: Request;
  trace: RequestTrace;
}

const CACHE = { 'Cache-Control': 'private, no-store' };
const JSON_HEADERS = { 'Content-Type': 'application/json', ...CACHE };

/** The form of an origin that a browser sends. Another text is not parsed, because that takes the square of its length. */
const ORIGIN = /^https?:\/\/[\w.:[\]-]{1,300}$/;

/** @returns a function that answers a POST to `/mcp` */
export function createMcp({ publicUrl, pipeline, handlers, metrics, stopping }: McpParts) {
  const { hostname } = new URL(publicUrl);
  const tools = toolsOf(handlers);
  const toolCalls = metrics.counter(
    'mcp_tool_calls_total',
    'Calls of tools by agents. Each is also a request of its route in http_requests_total.',
    'tool',
  );
  for (const { name: tool } of tools.byName.values()) toolCalls.inc({ tool }, 0);

  return async (request: Request, trace: RequestTrace): Promise<Answer | Response> => {
    const origin = request.headers.get('origin');
    if (origin !== null && !(ORIGIN.test(origin) && URL.parse(origin)?.hostname === hostname))
      return new Response('Pages of other hosts can not call this service.', { status: 403 });
    let conversation: Conversation | undefined;
    let left: number | null = null;
    let route: ApiRoute | undefined;
    trace.endpoint = `POST ${MCP_PATH}`;
    const answer = await pipeline.serve(request, trace, {
      right: null,
      charge: null,
      takesConnections: true,
      readBody: () => readJson(request, stopping),
      async quote(context, body) {
        // A batch would be several calls for one token. The protocol has had none since 2025-06-18.
        // A body of another type is left to the SDK.
        const { json, sent: text } = body!;
        if (Array.isArray(json) || (json === null && text !== 'not JSON') || isTooWide(json)) {
          conversation = refuseBody();
          return free(() => ok(null));
        }
        // The SDK takes 5 MB, so it is loaded for the first message.
        const { converse } = await import('./sdk.ts');
        conversation = await converse(request, json, seenBy(tools, context.caller.only));
        if (conversation.call === null) return free(() => ok(null));
        const { tool, input } = conversation.call;
        trace.endpoint = tool.name;
        const sent = `${tool.name} ${JSON.stringify(input)}`;
        route = permits(context.caller.only, tool.right) ? tool.route : tool.otherwise;
        if (route === undefined) return free(() => notPermitted(tool.right!));
        const call = { route, handler: handlers.get(route)!, request, sent, ...tool.read(input) };
        const quote = await quoteOnce(call, context);
        const end: Quote['end'] = (payment) => {
          left = payment.left;
          quote.end?.(payment);
        };
        return { ...quote, wantsLeft: true, end };
      },
    });
    return conversation === undefined
      ? refuse(request, answer, trace)
      : finish(conversation, answer, { left, route, request, trace });
  };

  /** A request that was refused before its message was looked at. For the rate, a call gets a result; without a key, the way to one. */
  async function refuse(request: Request, answer: Answer, trace: RequestTrace): Promise<Answer | Response> {
    if (!answer.ok && answer.problem.kind === 'unauthorized') {
      const hasToken = bearerToken(request.headers.get('authorization')) !== null;
      const headers = { ...answer.problem.headers, 'WWW-Authenticate': challengeOf(publicUrl, hasToken) };
      return { ok: false, problem: { ...answer.problem, headers } };
    }
    if (answer.ok || answer.problem.kind !== 'rate-limit-exceeded' || !isShort(request)) return answer;
    const id = await callIdOf(request, stopping);
    if (id === null) return answer;
    trace.status = PROBLEMS[answer.problem.kind].status;
    const result = { ...resultOf(answer, null, trace), resultType: 'complete' };
    const response = new Response(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return withHeaders(response, { ...JSON_HEADERS, ...answer.problem.headers });
  }

  async function finish(
    { call, end, response }: Conversation,
    answer: Answer,
    { left, route, request, trace }: Ended,
  ): Promise<Answer | Response> {
    if (call !== null) {
      const [status, error] = answer.ok
        ? [200]
        : [PROBLEMS[answer.problem.kind].status, answer.problem.cause];
      trace.call = {
        tool: call.tool.name,
        route: BASE_PATH + templateOf((route ?? call.tool.route).path),
        status,
        error,
      };
      if (!trace.isTest) toolCalls.inc({ tool: call.tool.name });
      const note = answer.ok ? call.tool.note : undefined;
      end(resultOf(answer, status === 503 ? null : left, trace, note));
      if (!answer.ok && isOverHttp(answer.problem.kind, request)) {
        await response;
        return answer;
      }
    } else if (!answer.ok) return answer;
    const { headers } = answer.ok ? answer : answer.problem;
    return withHeaders(await response, { ...CACHE, ...headers });
  }

  /**
   * The result of a call: the body that the route answers, as data and as text. The text of a problem is for a model.
   * `credits` is what the call was charged, as `X-Credits` says.
   */
  function resultOf(
    answer: Answer,
    left: number | null,
    { requestId, credits = 0 }: RequestTrace,
    note?: string,
  ) {
    const body = answer.ok ? answer.json : problemJson(publicUrl, answer.problem);
    const text = answer.ok ? body : explain(answer.problem, credits > 0, requestId);
    return {
      content: [text, note].flatMap((text) => (text === undefined ? [] : [{ type: 'text' as const, text }])),
      structuredContent: JSON.parse(body) as Record<string, unknown>,
      ...(!answer.ok && { isError: true }),
      _meta: { credits, ...(left !== null && { credits_left: left }) },
    };
  }
}

/** Whether a problem that a test key calls up is one over HTTP, as the real one is. */
const isOverHttp = (kind: ProblemName, request: Request) =>
  kind === 'authentication-failed' || (kind === 'rate-limit-exceeded' && !isShort(request));

/** The answer to a body that the SDK does not get. */
function refuseBody(): Conversation {
  const message = `The body is not one message of JSON-RPC, of at most 64 KiB and ${MAX_VALUES} values beside the lists of a tool's input, that arrives within 10 s. Batches are not taken.`;
  const error = { code: -32_600, message };
  const response = Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 });
  return { call: null, end() {}, response: Promise.resolve(response) };
}
