/** Calls of the API whose keys, queries and NIFs no log may repeat. */
import type { Instance } from './api.ts';
import { type CallAnswer, type CallOptions, call } from './client.ts';
import type { LogLine } from './service.ts';

/**
 * The log lines from that place on, without the request for the OpenAPI document: the first answer of a service is checked against
 * it (`call`), whichever test asks first.
 */
export function linesSince({ logLines }: Pick<Instance, 'logLines'>, from: number): LogLine[] {
  return logLines.slice(from).filter(({ route }) => route !== '/openapi/json');
}

/** Texts that no log may repeat, as they would stand within a string of JSON: those that consumers have sent in this process. */
const confidential = new Set<string>();

/** `call`, which remembers the key, the query, the NIF and the names, because no log may repeat them. */
export async function ask(
  { url }: Pick<Instance, 'url'>,
  path: string,
  options: CallOptions = {},
): Promise<CallAnswer> {
  if (options.key) keepSecret(options.key);
  const { pathname, searchParams } = new URL(url + path);
  const { names } = (options.json ?? {}) as { names?: unknown };
  const listed = Array.isArray(names) ? names.map(String) : [];
  for (const text of [...searchParams.values(), pathname.split('/companies/')[1] ?? '', ...listed]) {
    if (text.trim().length >= 5) keepSecret(text.trim());
  }
  return call(url, path, options);
}

/** The tokens that are left behind an answer. */
export const tokensOf = ({ headers }: Pick<CallAnswer, 'headers'>) =>
  Number(headers.get('RateLimit-Remaining'));

/** Further text that no log may hold: names that a provider gave, secrets of the configuration. */
export function keepSecret(...texts: string[]): void {
  for (const text of texts) confidential.add(JSON.stringify(text).slice(1, -1));
}

/** Every line is an object with a time and a message, and none holds a key, a NIF, a query or a name. */
export function checkLog(lines: LogLine[]): void {
  for (const line of lines) {
    const text = JSON.stringify(line);
    if (typeof line.msg !== 'string' || Number.isNaN(Date.parse(String(line.time)))) {
      throw new Error(`a line of the log is not complete: ${text}`);
    }
    const { account: _, key_id: _id, ...rest } = line;
    const searched = JSON.stringify(rest);
    const found =
      searched.match(/svc_\w{10,}|\b\d{9}\b/)?.[0] ??
      confidential.values().find((secret) => searched.includes(secret));
    if (found !== undefined) throw new Error(`the log holds ${JSON.stringify(found)}: ${text}`);
  }
}
