/** A test key's request asks nothing of the service but its key and its bucket: no adapter, no credits, no count. */
import { beforeEach, expect, test } from 'bun:test';
import { TEST_WORLD } from '../../../src/companies/test-world/adapters.ts';
import { methodOf } from '../../../src/http/api-route.ts';
import { inputOf } from '../../../src/http/input.ts';
import type { ProblemName } from '../../../src/http/problems.ts';
import { createMcp } from '../../../src/mcp/mcp-route.ts';
import { createRestFace } from '../../../src/metering/admission/face.ts';
import { createPipeline, type PipelineParts } from '../../../src/metering/admission/pipeline.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { keyRoute } from '../../../src/metering/usage/key-route.ts';
import { usageRoute } from '../../../src/metering/usage/usage-route.ts';
import { readConfig } from '../../../src/platform/config/config.ts';
import { createMetrics } from '../../../src/platform/observability/metrics.ts';
import { API_ROUTES, type EndpointParts, openEndpoints } from '../../../src/service/endpoints.ts';
import type { CallOptions } from '../../support/client.ts';
import { callMessage, toolOf } from '../../support/mcp.ts';
import { CASES, hasTool, requestFor } from './requests.ts';

const asked: string[] = [];
beforeEach(() => {
  asked.length = 0;
});

function refuse(name: string) {
  return () => {
    asked.push(name);
    throw new Error(`${name} was asked`);
  };
}

const SERVED = { publicUrl: 'http://service', stopping: new AbortController().signal };
const refusing = ['readAccount', 'readKey', ...Object.keys(TEST_WORLD)].map((name) => [name, refuse(name)]);
const handlers = openEndpoints(
  { ...(Object.fromEntries(refusing) as EndpointParts), ...SERVED },
  readConfig({}),
);
const pipeline = createPipeline({
  authenticator: {
    authenticate: async () => ({
      ...{
        accountId: 'acc',
        keyId: 'key',
        plan: 'free',
        requestsPerMinute: 20,
        isTest: true,
        only: null,
        budget: null,
      },
    }),
  },
  rateLimiter: { take: async () => ({ taken: true, limit: 20, remaining: 19, waitUs: 0, nowUs: 0 }) },
  credits: { charge: refuse('credits') },
  entryOf: refuse('entryOf'),
  notes: { answered: refuse('answered') },
  log: { bug: refuse('log') },
  buyUrl: null,
} as unknown as PipelineParts);
const mcp = createMcp({ ...SERVED, pipeline, handlers, metrics: createMetrics() });
const Authorization = `Bearer ${generateSecret(undefined, true)}`;

type Kind = ProblemName | null;

const WAYS = {
  async REST(path: string, options: CallOptions, route: (typeof API_ROUTES)[number]): Promise<Kind> {
    const request = new Request(`http://service/api/v1${path}`, {
      ...(options as RequestInit),
      headers: { ...options.headers, Authorization },
    });
    const call = createRestFace(route, handlers.get(route)!, SERVED.stopping);
    const answer = await pipeline.serve(request, {}, call(request));
    return answer.ok ? null : answer.problem.kind;
  },
  async MCP(path: string, options: CallOptions): Promise<Kind> {
    const { headers, body } = callMessage(...toolOf(path, options.body));
    const init = { method: 'POST', headers: { ...headers, Authorization }, body };
    const response = await mcp(new Request('http://service/mcp', init), { callId: '', requestId: 'test' });
    if (!(response instanceof Response)) return response.ok ? null : response.problem.kind;
    // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer should hold
    const { result } = (await response.json()) as any;
    return result.isError === true ? result.structuredContent.type.split('/').at(-1) : null;
  },
};

test.each(API_ROUTES.map((route) => [`${methodOf(route)} ${route.path}`, route] as const))(
  '%s: its answer and every problem, over REST and by its tool',
  async (_name, route) => {
    // Without input the word is in the address, which a tool does not have.
    const asksTool = hasTool(route) && Object.keys(inputOf(route)).length > 0;
    const ways = asksTool ? (['REST', 'MCP'] as const) : (['REST'] as const);
    // No request with a test key is `unauthorized`.
    const problems = CASES.flatMap(([, kind, of]) => (of === route && kind !== 'unauthorized' ? [kind] : []));
    // Usage and key are the account's own.
    const kinds: Kind[] = [usageRoute, keyRoute].includes(route) ? problems : [null, ...problems];
    for (const way of ways)
      for (const kind of kinds)
        expect([way, await WAYS[way](...requestFor(route, kind), route), asked]).toEqual([way, kind, []]);
  },
);

test('usage asks for the account alone, and the key for itself', async () => {
  await WAYS.REST(usageRoute.path, {}, usageRoute);
  await WAYS.REST(keyRoute.path, {}, keyRoute);
  expect(asked).toEqual(['readAccount', 'readKey']);
});
