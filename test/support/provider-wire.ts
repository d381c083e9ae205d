import type { Server, Socket } from 'node:net';
import type { WireAnswer } from './provider-answers.ts';

/** The purpose of a request, told from its path and query. */
type RequestKind = 'nif.pt' | 'vies' | 'einforma' | 'einforma-token' | 'other';

export interface ProviderRequest {
  kind: RequestKind;
  /** The NIF asked about; '' for a token. */
  nif: string;
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

/** Whole requests off a connection that is kept open between them. */
export function readRequests(socket: Socket, onRequest: (request: ProviderRequest) => void): void {
  let buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    buffer = Buffer.concat([buffer, chunk as Buffer]);
    for (;;) {
      const headEnd = buffer.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const [requestLine = '', ...lines] = buffer.toString('latin1', 0, headEnd).split('\r\n');
      const headers = Object.fromEntries(
        lines.map((line) => [
          line.slice(0, line.indexOf(':')).toLowerCase(),
          line.slice(line.indexOf(':') + 1).trim(),
        ]),
      );
      const end = headEnd + 4 + Number(headers['content-length'] ?? 0);
      if (buffer.length < end) return;
      const body = buffer.toString('utf8', headEnd + 4, end);
      buffer = buffer.subarray(end);
      const [method = '', target = ''] = requestLine.split(' ');
      const url = new URL(target, 'http://provider');
      onRequest({ ...purposeOf(url), method, url, headers, body });
    }
  });
}

function purposeOf(url: URL): { kind: RequestKind; nif: string } {
  const asked = url.searchParams.get('q');
  if (asked !== null) return { kind: 'nif.pt', nif: asked };
  const vies = /\/ms\/PT\/vat\/([^/]*)$/.exec(url.pathname);
  if (vies) return { kind: 'vies', nif: vies[1]! };
  const einforma = /\/companies\/([^/]*)\/report$/.exec(url.pathname);
  if (einforma) return { kind: 'einforma', nif: einforma[1]! };
  return { kind: url.pathname.endsWith('/oauth/token') ? 'einforma-token' : 'other', nif: '' };
}

/** Writes an answer with its length; a chunked one is never ended, and the result is false then. */
export function writeAnswer(socket: Socket, { status, headers = {}, body }: WireAnswer): boolean {
  const bytes = Buffer.from(body);
  const chunked = headers['transfer-encoding'] === 'chunked';
  const sent = chunked ? headers : { ...headers, 'content-length': String(bytes.length) };
  const head = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} Answer\r\n${head.join('')}\r\n`);
  if (chunked) socket.write(`${bytes.length.toString(16)}\r\n`);
  socket.write(bytes);
  if (chunked) socket.write('\r\n');
  return !chunked;
}

export function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

export function unlisten(server: Server, sockets: Set<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
  });
}
