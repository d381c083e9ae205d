/** The API over the Model Context Protocol, asked as a client of its newest revision asks. */
import { CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/client';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Instance } from './api.ts';
import { ask, keepSecret } from './ask.ts';
import type { CallAnswer, CallOptions } from './client.ts';
import { kindOf, strictly } from './openapi.ts';
import { importTools } from './whole.ts';

export const REVISION = '2026-07-28';
export const META = { [PROTOCOL_VERSION_META_KEY]: REVISION, [CLIENT_CAPABILITIES_META_KEY]: {} };

type Input = Record<string, unknown>;
type Service = Pick<Instance, 'baseUrl'>;

/** Sends a message, or text that is none. */
export function send(
  { baseUrl }: Service,
  message: unknown,
  { key, headers = {} }: CallOptions = {},
): Promise<Response> {
  const authorization: Record<string, string> = key ? { Authorization: `Bearer ${key}` } : {};
  return fetch(`${baseUrl}/mcp`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...authorization, ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
}

const JSON_HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

/** The call of a tool as it is sent. */
export function callMessage(name: string, input: Input) {
  const params = { name, arguments: input, _meta: META };
  return {
    headers: {
      ...JSON_HEADERS,
      'MCP-Protocol-Version': REVISION,
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'call-1', method: 'tools/call', params }),
  };
}

/** Calls a tool. */
export function callTool(
  service: Service,
  name: string,
  input: Input,
  options: CallOptions = {},
): Promise<Response> {
  const { headers, body } = callMessage(name, input);
  return send(service, body, { ...options, headers: { ...headers, ...options.headers } });
}

/** The result of a tool. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer should hold
export async function resultOf(...call: Parameters<typeof callTool>): Promise<any> {
  return ((await (await callTool(...call)).json()) as { result: unknown }).result;
}

const outputs = new Map<string, ValidateFunction>();

/** Throws if a result is not what the tool's output schema says. Problems have further members. */
async function checkOutput(name: string, body: unknown): Promise<void> {
  let validate = outputs.get(name);
  if (validate === undefined) {
    const { DEFINITIONS } = await importTools();
    const answers = [...DEFINITIONS.find((tool) => tool.name === name)!.outputSchema.anyOf];
    const problem = answers.pop()!;
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
    validate = ajv.compile({ anyOf: [...answers.map(strictly), problem] });
    outputs.set(name, validate);
  }
  if (!validate(body)) throw new Error(`${name}: ${JSON.stringify(validate.errors)}`);
}

/** {@link ask} by the tool of the path's route. The answer is what REST would answer. */
async function askTool(service: Service, path: string, options: CallOptions = {}): Promise<CallAnswer> {
  const [name, input] = toolOf(path, options.body);
  keepSecret(
    ...[options.key ?? '', ...Object.values(input).flat().map(String)].filter(({ length }) => length >= 5),
  );
  const response = await callTool(service, name, input, options);
  const { headers } = response;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer should hold
  const sent = (await response.json()) as any;
  // A key that is not valid is answered as everywhere.
  if (response.status !== 200)
    return { status: response.status, headers, body: sent, kind: kindOf({ body: sent }) };
  const { isError = false, structuredContent: body, content } = sent.result;
  await checkOutput(name, body);
  if (!isError && content[0].text !== JSON.stringify(body)) throw new Error('the text is not the body');
  return { status: isError ? body.status : 200, headers, body, kind: isError ? kindOf({ body }) : null };
}

/** The same calls by both ways. */
export const WAYS = { REST: ask, MCP: askTool };

/** Each mode over REST, and one over the protocol of agents. `full` needs {@link file://./modes.ts}. */
export const CASES = [
  ['postgres', 'REST'],
  ['full', 'REST'],
  ['full', 'MCP'],
] as const;

/** The tool and the input of a request. */
export function toolOf(path: string, body?: string): [name: string, input: Input] {
  const { pathname, searchParams } = new URL(path, 'http://service');
  const nif = /^\/companies\/(.+)$/.exec(pathname)?.[1];
  if (nif !== undefined) return ['get_company', { nif: decodeURIComponent(nif) }];
  const q = searchParams.get('q');
  if (pathname === '/companies') return ['search_companies', q === null ? {} : { q }];
  const name = TOOL_OF[pathname];
  if (name === undefined) throw new Error(`toolOf (test/support/mcp.ts) knows no tool for ${path}`);
  return [name, body === undefined ? {} : JSON.parse(body)];
}

const TOOL_OF: Record<string, string> = {
  '/resolutions': 'resolve_companies',
  '/lookups': 'get_companies',
  '/debts': 'check_debts',
  '/debts/changes': 'list_debt_changes',
  '/usage': 'get_usage',
  '/datasets': 'list_datasets',
};
