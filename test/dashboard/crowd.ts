/** A crowd of requests on raw sockets: `fetch` sends 256 at a time at most. */

export interface CrowdOptions {
  hostname: string;
  port: number;
  connections: number;
  /** One whole request as it goes over the wire. */
  request: string;
  /** Every connection sends it again as soon as it is answered; otherwise once. */
  isRepeated?: boolean;
}

export interface Crowd {
  /** Answers so far, by status. */
  answers: Record<number, number>;
  stop(): void;
}

/** Keeps a request in flight on each of its connections until it is stopped. Resolves when all are connected. */
export async function startCrowd({
  hostname,
  port,
  connections,
  request,
  isRepeated = true,
}: CrowdOptions): Promise<Crowd> {
  const answers: Record<number, number> = {};
  const sockets = new Set<Bun.Socket<Sending>>();
  const bytes = Buffer.from(request);
  let isStopped = false;

  /** Writes as much as the socket takes. The rest of a long request follows when it takes more. */
  function send(socket: Bun.Socket<Sending>): void {
    socket.data.sent += socket.write(bytes.subarray(socket.data.sent));
  }

  async function connect(): Promise<void> {
    const socket = await Bun.connect<Sending>({
      hostname,
      port,
      data: { received: '', sent: 0 },
      socket: {
        data(socket, chunk) {
          socket.data.received += chunk.toString('latin1');
          const status = wholeStatus(socket.data.received);
          if (status === null) return;
          socket.data.received = '';
          answers[status] = (answers[status] ?? 0) + 1;
          // A request that was answered before it was sent whole leaves its connection useless.
          if (socket.data.sent < bytes.length) socket.end();
          else if (!isStopped && isRepeated) {
            socket.data.sent = 0;
            send(socket);
          }
        },
        drain: send,
        close(socket) {
          sockets.delete(socket);
          if (!isStopped && isRepeated) void connect().catch(() => {});
        },
      },
    });
    sockets.add(socket);
    if (isStopped) socket.end();
    else send(socket);
  }

  await Promise.all(Array.from({ length: connections }, connect));
  return {
    answers,
    stop() {
      isStopped = true;
      for (const socket of sockets) socket.terminate();
    },
  };
}

interface Sending {
  received: string;
  /** Bytes of the request that the socket has taken. */
  sent: number;
}

/** The status of an answer that has arrived whole; `null` means not yet. Every answer of the service says its length. */
function wholeStatus(received: string): number | null {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, end + 2))?.[1];
  return received.length >= end + 4 + Number(length ?? 0) ? Number(received.slice(9, 12)) : null;
}

/** A request of the dashboard, as a browser with these cookies sends it. @param from the address that a proxy has seen */
export function pageRequest(
  { hostname, port, from }: { hostname: string; port: number; from?: string },
  cookies: Map<string, string>,
  method: 'GET' | 'POST',
  path: string,
  fields: Record<string, string> = {},
): string {
  const body = new URLSearchParams(fields).toString();
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const form =
    method === 'GET'
      ? ''
      : `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n`;
  const forwarded = from === undefined ? '' : `X-Forwarded-For: ${from}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${forwarded}Cookie: ${cookie}\r\n${form}\r\n${body}`;
}
