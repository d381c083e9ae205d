/** The call of a tool as a client sends it, and its result (protocol: Tools, Streamable HTTP, per-request metadata). */
import type { Answer } from '../http/answer.ts';
import { explain, problemJson } from '../http/problems.ts';
import { isObject } from '../runtime/json.ts';
import { VERSION } from '../version.ts';
import { TOOLS, type Tool } from './tools.ts';

/** The first revision without a handshake: each request carries what the handshake said, in `_meta` and in headers. */
const REVISION = '2026-07-28';
const WITH_HANDSHAKE = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
const META = 'io.modelcontextprotocol/';

export const SERVER = { name: 'company-directory', title: 'Company Directory', version: VERSION };

export interface ToolCall {
  id: string | number;
  tool: Tool;
  /** From a sender that is not trusted. */
  input: Record<string, unknown>;
  /** Whether the client speaks {@link REVISION}. */
  isModern: boolean;
}

/** The call in a message; `null` for any other message, and for a call of no tool or against the protocol. */
export function callOf(message: unknown, headers: Headers): ToolCall | null {
  if (!isObject(message) || !isObject(message.params)) return null;
  const { jsonrpc, id, method } = message;
  const { name, arguments: input = {}, _meta: meta = {} } = message.params;
  const tool = TOOLS.get(name);
  if (jsonrpc !== '2.0' || method !== 'tools/call' || tool === undefined) return null;
  if (!(typeof id === 'string' || Number.isSafeInteger(id)) || !isObject(input) || !isObject(meta))
    return null;
  const version = headers.get('mcp-protocol-version');
  const claimed = meta[`${META}protocolVersion`];
  const isModern = claimed !== undefined;
  const isSpoken = isModern
    ? claimed === REVISION && version === claimed && isObject(meta[`${META}clientCapabilities`])
    : version === null || WITH_HANDSHAKE.includes(version);
  const isRepeated = headers.get('mcp-method') === method && headers.get('mcp-name') === name;
  return isSpoken && (isRepeated || !isModern) ? { id: id as ToolCall['id'], tool, input, isModern } : null;
}

/**
 * The result of a call, as JSON: the body that the route answers, with further members in place of headers, as data and as text.
 * The text of a problem is for a model.
 * @param left `null` means that the call was charged nothing
 */
export function writeResult(
  { id, isModern }: ToolCall,
  answer: Answer,
  publicUrl: string,
  left: number | null,
) {
  const body = answer.ok ? withMembers(answer.json, answer.members) : problemJson(publicUrl, answer.problem);
  const meta = { ...(isModern && { [`${META}serverInfo`]: SERVER }), credits_left: left ?? undefined };
  const members = {
    content: [{ type: 'text', text: answer.ok ? body : explain(answer.problem) }],
    isError: answer.ok ? undefined : true,
    resultType: isModern ? 'complete' : undefined,
    _meta: isModern || left !== null ? meta : undefined,
  };
  const rest = JSON.stringify(members).slice(1);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"structuredContent":${body},${rest}}`;
}

/** @param json an object with members */
function withMembers(json: string, members?: Record<string, unknown>): string {
  return members === undefined ? json : `${json.slice(0, -1)},${JSON.stringify(members).slice(1)}`;
}
