import { type AddressInfo, connect, createServer } from 'node:net';

/** A proxy that stops what clients send to Postgres, to change something between two statements. */
export interface SwitchingProxy {
  url: string;
  /**
   * Calls `change` before the n-th piece from now on is passed on, of those that `counts` (about a statement each). The piece waits
   * for it.
   * @returns whether it was called since
   */
  arm(n: number, change: () => Promise<void>, counts?: (piece: Buffer) => boolean): () => boolean;
  close(): Promise<void>;
}

export async function startSwitchingProxy(databaseUrl: string): Promise<SwitchingProxy> {
  const target = new URL(databaseUrl);
  let isDue: (piece: Buffer) => boolean = () => false;
  let change = async () => {};
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    upstream.pipe(client);
    let sending = Promise.resolve();
    client.on('data', (piece: Buffer) => {
      sending = sending.then(async () => {
        if (isDue(piece)) await change();
        upstream.write(piece);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    arm(n, next, counts = () => true) {
      let left = n;
      isDue = (piece) => counts(piece) && --left === 0;
      change = next;
      return () => left <= 0;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
