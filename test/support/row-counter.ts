import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform, type TransformCallback } from 'node:stream';

export type RowCounter = {
  /** `base` with the counter's host and port. */
  url(base: string): string;
  /** The most rows of one answer since the last call. */
  most(): number;
  close(): Promise<void>;
};

/** The ends of an answer in Postgres's protocol: done, suspended, failed, empty, ready. */
const ENDS = new Set(['C', 's', 'E', 'I', 'Z']);

/** Starts a TCP proxy before Postgres that counts the rows of each answer, so that a test sees what a process reads at once. */
export async function startRowCounter(target: string): Promise<RowCounter> {
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  let most = 0;

  /** Counts the rows that pass. */
  const rowCount = () => {
    let rest = Buffer.alloc(0);
    let rows = 0;
    const transform = (chunk: Buffer, _: unknown, done: TransformCallback) => {
      rest = Buffer.concat([rest, chunk]);
      let at = 0;
      while (rest.length >= at + 5) {
        const end = at + 1 + rest.readInt32BE(at + 1);
        if (rest.length < end) break;
        const type = String.fromCharCode(rest[at]!);
        if (type === 'D') {
          rows += 1;
          most = Math.max(most, rows);
        } else if (ENDS.has(type)) rows = 0;
        at = end;
      }
      rest = rest.subarray(at);
      // Copied, because Bun uses the chunk's memory again.
      done(null, Buffer.from(chunk));
    };
    return new Transform({ transform });
  };
  const server = createServer((client) => {
    const upstream = connect(Number(targetPort), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream).pipe(rowCount()).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url(base) {
      const url = new URL(base);
      url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      return url.href;
    },
    most() {
      const seen = most;
      most = 0;
      return seen;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
