/** The answers of the protocol's SDK: handshakes, lists, and refusals of messages against the protocol. */
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { HOUR } from '../units.ts';
import { SERVER } from './call.ts';
import { DEFINITIONS } from './tools.ts';

const OPTIONS = {
  capabilities: { tools: {} },
  cacheHints: { 'tools/list': { ttlMs: HOUR, cacheScope: 'public' as const } },
  instructions:
    'Portuguese companies. Find the NIF of a name first, then ask for its details or debts. Each tool says what a call costs; get_usage says what is left.',
};

// A stream of changes would never end, and nothing of the server changes while it runs.
const modern = createMcpHandler(createServer, { legacy: 'reject', maxSubscriptions: 0 });

/** Answers a message. Clients before 2026 get JSON, too, which the SDK's own fallback for them would not send. */
export async function converse(request: Request, message: unknown): Promise<Response> {
  if (!(await isLegacyRequest(request, message))) return modern.fetch(request, { parsedBody: message });
  const server = createServer();
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return transport.handleRequest(request, { parsedBody: message }).finally(() => server.close());
}

function createServer(): Server {
  const server = new Server(SERVER, OPTIONS);
  server.setRequestHandler('tools/list', () => ({ tools: DEFINITIONS }));
  server.setRequestHandler('tools/call', () => {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such tool.');
  });
  return server;
}
