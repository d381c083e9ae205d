/** The faces of a route, of which each reads the input once the call has its token. */
import { expect, test } from 'bun:test';
import { type ApiRoute, methodOf } from '../../src/http/api-route.ts';
import { exampleOf, type Input } from '../../src/http/input.ts';
import { createMcp } from '../../src/mcp/mcp-route.ts';
import { TOOLS } from '../../src/mcp/tools.ts';
import { createRestFace, type FaceCall } from '../../src/metering/admission/face.ts';
import type { Pipeline } from '../../src/metering/admission/pipeline.ts';
import { free, NOTHING_PAID, type Quote } from '../../src/metering/admission/quote.ts';
import { createMetrics } from '../../src/platform/observability/metrics.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { CONTEXT } from '../support/handler.ts';
import { callMessage } from '../support/mcp.ts';

const stopping = new AbortController().signal;
/** The inputs that handlers got. */
let inputs: Input[] = [];
/** The identities that were claimed. */
let claimed: string[] = [];
const context = {
  ...CONTEXT,
  async claim(identity: string) {
    claimed.push(identity);
    return null;
  },
};
const handler = {
  quote(input: Input): Quote {
    inputs.push(input);
    return free(() => ({ ok: true, json: '{}' }));
  },
};

function requestTo(route: ApiRoute, headers: Record<string, string>): Request {
  const input = exampleOf(route);
  const path = route.path.replace(/:(\w+)/, (_, name) => String(input[name]));
  const query = new URLSearchParams(
    Object.keys(route.query?.properties ?? {}).map((name): [string, string] => [name, String(input[name])]),
  );
  return new Request(`http://service/api/v1${path}?${query}`, {
    method: methodOf(route),
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(route.body !== undefined && { body: JSON.stringify(input) }),
  });
}

/** Takes a call as far as its quote. */
async function quoteOf(call: FaceCall): Promise<Quote> {
  const body = await call.readBody?.();
  if (body === 'unread') throw new Error('the body was not read');
  return call.quote(context, body);
}

async function byRest(route: ApiRoute, headers: Record<string, string> = {}): Promise<Quote> {
  [inputs, claimed] = [[], []];
  return quoteOf(createRestFace(route, handler, stopping)(requestTo(route, headers)));
}

async function byTool(name: string, input: Input, headers: Record<string, string> = {}): Promise<Quote> {
  [inputs, claimed] = [[], []];
  let quoted: Quote | undefined;
  const pipeline: Pipeline = {
    async serve(_request, _trace, call) {
      quoted = await quoteOf(call);
      return quoted.answer(NOTHING_PAID);
    },
  };
  const handlers = new Map(API_ROUTES.map((route) => [route, handler]));
  const mcp = createMcp({
    publicUrl: 'http://service',
    pipeline,
    handlers,
    metrics: createMetrics(),
    stopping,
  });
  const message = callMessage(name, input);
  const init = { method: 'POST', headers: { ...message.headers, ...headers }, body: message.body };
  await mcp(new Request('http://service/mcp', init), { callId: '', requestId: 'test' });
  return quoted!;
}

const problemOf = async ({ answer }: Quote) => {
  const answered = await answer(NOTHING_PAID);
  return answered.ok ? null : answered.problem.kind;
};
const BAD = { 'Idempotency-Key': 'bad key!' };
const GOOD = { 'Idempotency-Key': 'good-key' };

type Face = [name: string, route: ApiRoute, quote: (headers?: Record<string, string>) => Promise<Quote>];
const FACES: Face[] = [
  ...API_ROUTES.map(
    (route): Face => [`${methodOf(route)} ${route.path}`, route, (headers) => byRest(route, headers)],
  ),
  ...[...TOOLS.values()].map(
    ({ name, route }): Face => [name, route, (headers) => byTool(name, exampleOf(route), headers)],
  ),
];

test.each(FACES)(
  '%s: the handler gets the input of the address, the body or the call',
  async (_, route, quote) => {
    await quote();
    expect(inputs).toEqual([exampleOf(route)]);
  },
);

test.each(
  API_ROUTES.filter(({ body }) => body === undefined).map(({ path, ...route }) => [path, { path, ...route }]),
)('a quote of GET %s is synchronous, and a bad Idempotency-Key is ignored', async (_path, route) => {
  [inputs, claimed] = [[], []];
  const quote = createRestFace(route, handler, stopping)(requestTo(route, BAD)).quote(context);
  expect(quote).not.toBeInstanceOf(Promise);
  expect([inputs.length, await problemOf(quote as Quote), claimed]).toEqual([1, null, []]);
});

test.each(FACES.filter(([name, { body }]) => body !== undefined || TOOLS.has(name)))(
  'a bad Idempotency-Key of %s is a validation before the reads, at the price of one',
  async (_, { charge }, quote) => {
    const price = charge === null ? 0 : 1;
    const { kind, credits, ...bad } = await quote(BAD);
    expect([inputs, kind, credits, await problemOf(bad as Quote)]).toEqual([[], charge, price, 'validation']);
    expect(claimed).toEqual([]);
    await quote(GOOD);
    expect(claimed).toHaveLength(price);
  },
);
