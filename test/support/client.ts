import { connect } from 'node:net';
import { type AnswerChecker, createAnswerChecker, kindOf } from './openapi.ts';

export type CallOptions = {
  key?: string | null;
  headers?: Record<string, string>;
  method?: string;
  body?: string;
  /** The body of a POST, as JSON. */
  json?: unknown;
};

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer should hold; the shape has been checked
export type CallAnswer = { status: number; headers: Headers; body: any; kind: string | null };

const checkers = new Map<string, Promise<AnswerChecker>>();

/**
 * Calls the API and checks the answer against the service's own OpenAPI document, whatever it is.
 *
 * @param url as {base_url}: `http://127.0.0.1:PORT/api/v1`
 * @param path below it, with the query: `/companies?q=abaco`
 * @returns the answer, its body parsed (null when empty), and the problem's kind (null for a success)
 * @throws Error that says what the document doesn't allow
 */
export async function call(url: string, path: string, options: CallOptions = {}): Promise<CallAnswer> {
  const { key = null, json } = options;
  const sent = { method: 'POST', body: JSON.stringify(json) };
  const { method = 'GET', body } = json === undefined ? options : sent;
  const headers = { ...(json !== undefined && { 'Content-Type': 'application/json' }), ...options.headers };
  const check = await checkerOf(new URL(url).origin);
  const response = await fetch(url + path, {
    method,
    headers: { ...(key === null ? {} : { Authorization: `Bearer ${key}` }), ...headers },
    redirect: 'manual',
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const answer = { status: response.status, headers: response.headers, body: parse(text) };
  check(method, path, answer);
  return { ...answer, kind: kindOf(answer) };
}

function parse(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text; // the check says what is wrong with it
  }
}

/** The document is fetched once per service; a service that can't be asked is asked again next time. */
function checkerOf(origin: string): Promise<AnswerChecker> {
  let checker = checkers.get(origin);
  if (checker === undefined) {
    checker = fetch(`${origin}/openapi/json`)
      .then((response) => response.json())
      .then(createAnswerChecker);
    checkers.set(origin, checker);
    checker.catch(() => checkers.delete(origin));
  }
  return checker;
}

/** For a service that starts: its port may have been that of one with another document. */
export const forgetDocument = (origin: string) => void checkers.delete(origin);

/** The text of a request as no client library sends it. `Host` is `h` unless given. It ends the connection. */
export function requestText(line: string, headers: Record<string, string | number> = {}, body = ''): string {
  const sent = Object.entries({ Host: 'h', Connection: 'close', ...headers });
  return `${line} HTTP/1.1\r\n${sent.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

/**
 * Opens a connection and sends text on it, such as part of a request.
 * @param from an address of this machine, which the server sees as its peer
 * @returns `closed` resolves with what was answered, when the connection is closed
 */
export async function sendText(baseUrl: string, text: string, from = '127.0.0.1') {
  const port = Number(new URL(baseUrl).port);
  const socket = connect({ port, host: '127.0.0.1', localAddress: from }).setEncoding('utf8');
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(answer)));
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  return { socket, closed };
}

/** Sends text as it stands and reads until the server closes; ask for `Connection: close`. @throws when the connection fails */
export async function sendRaw(
  { baseUrl }: { baseUrl: string },
  text: string,
  from?: string,
): Promise<string> {
  const { socket, closed } = await sendText(baseUrl, text, from);
  const answer = await closed;
  if (socket.errored) throw socket.errored;
  return answer;
}
