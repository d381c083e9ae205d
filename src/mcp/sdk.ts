/** Every message is answered by the protocol's SDK: handshakes, lists, calls, and refusals of messages against the protocol. */
import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { HOUR, KIB } from '../platform/units.ts';
import { VERSION } from '../platform/version.ts';
import type { ServedTools, Tool } from './tools.ts';

const SERVER = { name: 'company-directory', title: 'Company Directory', version: VERSION };

const OPTIONS = {
  capabilities: { tools: {} },
  instructions:
    'Portuguese companies. Find the NIF of a name first, then ask for its details or debts. Each tool says what a call costs; get_usage says what is left, and list_datasets of which date the lists of debtors are, if any. An error without a reason is most often the rate limit: wait a minute, then call again.',
};

interface ToolCall {
  tool: Tool;
  /** From a sender that is not trusted. */
  input: Record<string, unknown>;
}

type OnCall = (call: ToolCall) => Promise<CallToolResult>;

/** A message that the SDK has read. */
export interface Conversation {
  /** The call of a tool that the message is; `null` means that it is another message, or against the protocol. */
  call: ToolCall | null;
  /** Gives the result of the call to the SDK. */
  end(result: CallToolResult): void;
  /** The response to the message. That to a call comes after {@link end}, or when the client leaves. */
  response: Promise<Response>;
}

/** Lets the SDK read a message, up to the call of a tool. So what the call costs is known before it is answered. */
export async function converse(
  request: Request,
  message: unknown,
  tools: ServedTools,
): Promise<Conversation> {
  const called = Promise.withResolvers<ToolCall | null>();
  const result = Promise.withResolvers<CallToolResult>();
  const response = respond(request, message, tools, (call) => {
    called.resolve(call);
    return result.promise;
  });
  response.then(() => called.resolve(null), called.reject);
  const call = await called.promise;
  return { call, end: result.resolve, response: call === null ? response.then(shortenError) : response };
}

/** The longest answer whose error is left as it is. */
const MAX_ERROR_LENGTH = KIB;

/** Shortens an error, because the SDK's text repeats each value that is not valid, and its data what was sent. */
async function shortenError(response: Response): Promise<Response> {
  const text = await response.text();
  const answer = text.length > MAX_ERROR_LENGTH ? JSON.parse(text) : {};
  if (answer.error === undefined) return new Response(text, response);
  const { code, message } = answer.error;
  const error = { code, message: message.slice(0, MAX_ERROR_LENGTH) };
  return new Response(JSON.stringify({ ...answer, error }), response);
}

/** Clients before 2026 get JSON, too, which the SDK's own fallback for them would not send. */
async function respond(
  request: Request,
  message: unknown,
  tools: ServedTools,
  onCall: OnCall,
): Promise<Response> {
  if (!(await isLegacyRequest(request, message))) {
    // A stream of changes would never end, and nothing of the server changes while it runs.
    const modern = createMcpHandler(() => createServer(tools, onCall), {
      legacy: 'reject',
      maxSubscriptions: 0,
    });
    return modern.fetch(request, { parsedBody: message });
  }
  const server = createServer(tools, onCall);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return transport.handleRequest(request, { parsedBody: message }).finally(() => server.close());
}

function createServer({ byName, definitions, cacheScope }: ServedTools, onCall: OnCall): Server {
  const cacheHints = { 'tools/list': { ttlMs: HOUR, cacheScope } };
  const server = new Server(SERVER, { ...OPTIONS, cacheHints });
  server.setRequestHandler('tools/list', () => ({ tools: definitions }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const tool = byName.get(params.name);
    if (tool === undefined) {
      const names = [...byName.keys()].join(', ');
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no such tool. The tools are: ${names}.`,
      );
    }
    return onCall({ tool, input: params.arguments ?? {} });
  });
  return server;
}
