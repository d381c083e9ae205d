import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import { type Duplex, Transform } from 'node:stream';

export type TcpProxy = Awaited<ReturnType<typeof startProxy>>;

type Pair = {
  client: Socket;
  upstream: Socket | undefined;
  /** What the client's bytes go through first, and the upstream's. */
  sending: Duplex | undefined;
  answering: Duplex;
  late: Transform;
  passing: boolean;
};

const DEFAULT_PORTS: Record<string, number> = { 'postgres:': 5432, 'redis:': 6379, 'http:': 80 };

/**
 * Sees the bytes that pass, about a statement or an answer each. A connection is an object of its own. A piece waits until the tap is
 * done with it, and bytes that the tap returns pass in its place.
 */
type Tap = (piece: Buffer, connection: object) => unknown;

/**
 * Starts a TCP proxy before a dependency, to take it away, freeze it and bring it back in tests of failures.
 * @param target the dependency's address, of which host and port count
 */
export async function startProxy(target: string, { sent, answered }: { sent?: Tap; answered?: Tap } = {}) {
  let { hostname, port: targetPort, protocol } = new URL(target);
  let mode: 'up' | 'hang' | 'down' = 'up';
  let delayMs = 0;
  let refused = 0;
  const pairs = new Set<Pair>();
  const muted = new Set<Socket>();

  const accept = (client: Socket) => {
    if (mode === 'down') {
      refused += 1;
      client.on('error', () => {});
      client.resetAndDestroy();
      return;
    }
    const late = delayed(() => delayMs);
    const way = { upstream: undefined, sending: undefined, passing: false };
    const pair: Pair = { client, late, answering: late, ...way };
    if (answered) {
      pair.answering = tapped(answered, pair);
      pair.answering.pipe(late);
    }
    pairs.add(pair);
    client.setNoDelay(true);
    client.on('error', () => end(pair));
    client.on('close', () => end(pair));
    if (mode === 'up') letPass(pair);
    else client.pause();
  };
  const letPass = (pair: Pair) => {
    if (pair.passing) return;
    pair.passing = true;
    pair.upstream ??= connectUpstream(pair);
    pair.client.pipe(pair.sending!);
    pair.upstream.pipe(pair.answering);
    pair.late.pipe(pair.client);
  };
  const connectUpstream = (pair: Pair) => {
    const upstream = connectTo(Number(targetPort) || DEFAULT_PORTS[protocol]!, hostname);
    upstream.setNoDelay(true);
    upstream.on('error', () => end(pair));
    upstream.on('close', () => end(pair));
    pair.sending = upstream;
    if (sent) {
      pair.sending = tapped(sent, pair);
      pair.sending.pipe(upstream);
    }
    return upstream;
  };
  const holdBack = (pair: Pair) => {
    if (!pair.passing || !pair.upstream) return;
    pair.passing = false;
    pair.client.unpipe(pair.sending);
    pair.upstream.unpipe(pair.answering);
    pair.late.unpipe(pair.client);
    pair.client.pause();
    pair.upstream.pause();
  };
  /** Once one side is gone the other goes too; `reset` as a crashed server would, else after what is still on its way. */
  const end = (pair: Pair, how: 'close' | 'reset' = 'close') => {
    if (!pairs.delete(pair)) return;
    if (how === 'reset') pair.client.resetAndDestroy();
    else pair.client.destroySoon();
    pair.upstream?.destroy();
  };

  const server = createServer({ allowHalfOpen: true }, accept);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve());
  });
  const { port } = server.address() as AddressInfo;
  return {
    /** Where it listens on 127.0.0.1; the same through every `down` and `up`. */
    port,
    /** `base` with this proxy's host and port: `redis://10.0.0.1:6379/2` becomes `redis://127.0.0.1:PORT/2`. */
    url(base: string): string {
      const url = new URL(base);
      url.hostname = '127.0.0.1';
      url.port = String(port);
      return url.href;
    },
    /** Resets every connection, and every new one as soon as it is made. */
    down(): void {
      mode = 'down';
      for (const pair of pairs) end(pair, 'reset');
    },
    /** Accepts and keeps connections, but nothing passes, in either direction, until `up`. */
    hang(): void {
      mode = 'hang';
      for (const pair of pairs) holdBack(pair);
    },
    /**
     * Nothing passes any more, in either direction, on the connections that exist, whatever comes: their host is gone
     * without a word. New ones work as before.
     */
    mute(): void {
      for (const pair of pairs) {
        holdBack(pair);
        muted.add(pair.client);
      }
      const ended = [...pairs];
      pairs.clear();
      // The server that answers from now on is another one: it has none of these connections.
      for (const { upstream } of ended) upstream?.destroy();
    },
    /** Everything passes, but all that the dependency sends arrives `ms` later, until `up`. */
    delay(ms: number): void {
      delayMs = ms;
    },
    /** Everything passes at once; what `hang` held back comes first. */
    up(): void {
      mode = 'up';
      delayMs = 0;
      for (const pair of pairs) letPass(pair);
    },
    /** New connections go to another address from now on. */
    redirect(next: string): void {
      ({ hostname, port: targetPort, protocol } = new URL(next));
    },
    /** How many connections have been reset because they came while it was `down`. */
    refused: () => refused,
    async close(): Promise<void> {
      for (const pair of pairs) end(pair, 'reset');
      for (const client of muted) client.resetAndDestroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function tapped(tap: Tap, connection: object): Transform {
  return new Transform({
    async transform(piece: Buffer, _encoding, done) {
      const other = await tap(piece, connection);
      done(null, other instanceof Buffer ? other : piece);
    },
  });
}

/** Lets each chunk through `delayMs` after it came, in their order. */
function delayed(delayMs: () => number): Transform {
  const waiting: Buffer[] = [];
  const late: Transform = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (waiting.length === 0 && delayMs() === 0) return done(null, chunk);
      waiting.push(chunk);
      // Each timer lets the oldest through, whichever it was set for: none overtakes another.
      setTimeout(() => late.push(waiting.shift()), delayMs());
      done();
    },
  });
  return late;
}
