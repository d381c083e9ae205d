/**
 * A route has several faces: a request over HTTP (here), a tool of agents (src/mcp), and a member's own call (src/dashboard/try).
 * Each reads the input once the call has its token. The handler gets an object, and knows nothing of its face.
 */
import { createHash } from 'node:crypto';
import { problem } from '../../http/answer.ts';
import { type ApiRoute, IDEMPOTENCY_KEY } from '../../http/api-route.ts';
import { type JsonBody, jsonFault, readJson } from '../../http/body.ts';
import { createBodyCheck } from '../../http/body-check.ts';
import type { CallKind } from '../../http/call-kind.ts';
import { createAddressReader, type Input } from '../../http/input.ts';
import type { Reason } from '../../http/problems.ts';
import type { Right } from '../../http/right.ts';
import { pathOf, searchOf } from '../../http/url.ts';
import { type CallContext, free, type Handler, type Quote, single } from './quote.ts';

const KEY = new RegExp(IDEMPOTENCY_KEY);
const INVALID_KEY = 'Idempotency-Key is not 1 to 64 letters of A to Z, a to z, 0 to 9, "_" and "-".';

/** A call as its face makes it. */
export interface FaceCall {
  /** The right that the key needs; `null` means none, or that it is not known yet. */
  right: Right | null;
  /** The kind of call, for the estimate of its wait; `null` means that it is not known yet. */
  charge: CallKind | null;
  /** Whether an access token of a connection makes such calls (docs/mcp.md: connections). */
  takesConnections?: true;
  /** Reads the body, once the call has its token. Its sender may be slow. Absent: the call has none. */
  readBody?(): Promise<JsonBody>;
  /** Asks the handler. @param body was read */
  quote(context: CallContext, body?: Exclude<JsonBody, 'unread'>): Quote | Promise<Quote>;
}

/**
 * Makes the calls of a route from requests over HTTP.
 * @param stopping aborted when the service stops
 */
export function createRestFace(
  route: ApiRoute,
  handler: Handler,
  stopping: AbortSignal,
): (request: Request) => FaceCall {
  if (route.body === undefined) {
    const read = createAddressReader(route);
    return ({ url }) => ({
      right: route.right,
      charge: route.charge,
      quote: (context) => handler.quote(read(url), context),
    });
  }
  const faultOf = createBodyCheck(route.body);
  return (request) => ({
    right: route.right,
    charge: null,
    readBody: () => readJson(request, stopping),
    quote(context, body) {
      const { json, sent } = body!;
      const noJson = jsonFault(body!);
      const reason = noJson === null ? 'member' : 'body';
      const fault = noJson ?? faultOf(json);
      return quoteOnce({ route, handler, request, sent, fault, reason, input: json as Input }, context);
    },
  });
}

interface OnceCall {
  route: ApiRoute;
  handler: Handler;
  request: Pick<Request, 'headers' | 'url'>;
  /** The body, or a tool's name and arguments. */
  sent: string | Uint8Array;
  /** Why the input is not valid; `null` means that the route's schema takes it. */
  fault: string | null;
  /** Of the fault. */
  reason?: Reason;
  input: Input;
}

/**
 * The quote of a call that takes an `Idempotency-Key` (docs/api.md: Idempotency-Key). Bad input has its quote, too, because it is
 * charged (specification, Endpoints).
 */
export async function quoteOnce(
  { route, handler, request: { headers, url }, sent, fault, reason = 'member', input }: OnceCall,
  context: CallContext,
): Promise<Quote> {
  const key = headers.get('idempotency-key');
  if (key !== null && !KEY.test(key)) return refused(route, INVALID_KEY, 'idempotency-key');
  let paidBefore: number | null = null;
  if (key !== null && route.charge !== null) {
    const address = pathOf(url) + searchOf(url);
    paidBefore = await context.claim(identityOf(context.caller.accountId, key, address, sent));
  }
  return fault === null ? handler.quote(input, { ...context, paidBefore }) : refused(route, fault, reason);
}

/** The quote of a call that is not valid. */
function refused({ charge }: ApiRoute, detail: string, reason: Reason): Quote {
  const answer = () => problem('validation', detail, { reason });
  return charge === null ? free(answer) : single(charge, answer);
}

/**
 * Identifies a request with an `Idempotency-Key`, so that it is charged once, however often it is sent.
 *
 * @param address path and query, as they were sent
 * @param sent beside them: the body, or a tool's name and arguments
 */
function identityOf(accountId: string, key: string, address: string, sent: string | Uint8Array) {
  return createHash('sha256').update(`${accountId}\n${key}\n${address}\n`).update(sent).digest('hex');
}
