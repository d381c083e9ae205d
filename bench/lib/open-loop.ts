/**
 * An open-loop load generator: requests are sent at the times of a fixed schedule, however slowly they are answered, as long
 * as a connection is free; how late one was sent is told apart from how long its answer took.
 *
 * It shares the machine with the service, so it keeps to buffers: a request over 15,000 connections takes it 13 to 17 µs, 10 to 14 of
 * them in the kernel.
 *
 * `bun bench/lib/open-loop.ts` reads a {@link Schedule} from stdin and writes an {@link Arrivals} to stdout. It is a separate
 * process, so that nothing else delays it.
 */
import { readFileSync } from 'node:fs';

export interface Schedule {
  host: string;
  port: number;
  perSecond: number;
  seconds: number;
  connections: number;
  /** Whole requests as they go over the wire, sent in turn. */
  requests: string[];
}

export interface Arrivals {
  /** From the sending to the answer, milliseconds, by status; 0: the connection ended without one. */
  times: Record<number, number[]>;
  /** Requests that had no answer when the generator gave up. */
  unanswered: number;
  /** The longest that a request was sent after it was due, milliseconds: how well the schedule was kept. */
  latestMs: number;
}

/** After the last request was due. */
const PATIENCE_MS = 10_000;

/** Runs the generator in a separate process. */
export async function runOpenLoop(schedule: Schedule): Promise<Arrivals> {
  const generator = Bun.spawn([process.execPath, import.meta.path], { stdin: 'pipe', stdout: 'pipe' });
  generator.stdin.write(JSON.stringify(schedule));
  await generator.stdin.end();
  const report = await new Response(generator.stdout).text();
  if ((await generator.exited) !== 0) throw new Error('the load generator failed');
  return JSON.parse(report) as Arrivals;
}

/** A connection. */
interface Line {
  socket: Bun.Socket<Line>;
  /** When its request was sent; null: it is free. */
  sentMs: number | null;
  /** The beginning of an answer that did not arrive whole. */
  received: Buffer | null;
  closed: boolean;
}

async function generate(schedule: Schedule): Promise<Arrivals> {
  const { host, port, perSecond, seconds, connections } = schedule;
  const requests = schedule.requests.map((request) => Buffer.from(request));
  const total = Math.round(perSecond * seconds);
  const arrivals: Arrivals = { times: {}, unanswered: 0, latestMs: 0 };
  const free = createRing<Line>(connections);
  let sent = 0;
  let answered = 0;
  let startMs = 0;

  function settle(line: Line, status: number): void {
    if (line.sentMs === null) return;
    let times = arrivals.times[status];
    if (times === undefined) {
      times = [];
      arrivals.times[status] = times;
    }
    times.push(performance.now() - line.sentMs);
    answered += 1;
    line.sentMs = null;
    line.received = null;
  }

  async function connect(): Promise<void> {
    const line: Partial<Line> = { sentMs: null, received: null, closed: false };
    line.socket = await Bun.connect<Line>({
      hostname: host,
      port,
      data: line as Line,
      socket: {
        data({ data }, chunk) {
          const received = data.received === null ? chunk : Buffer.concat([data.received, chunk]);
          const status = completeStatus(received);
          if (status === null) {
            // Copied: Bun uses the chunk's memory again.
            data.received = Buffer.from(received);
            return;
          }
          settle(data, status);
          free.push(data);
          send();
        },
        close({ data }) {
          settle(data, 0);
          data.closed = true;
        },
      },
    });
    free.push(line as Line);
  }

  /** Sends what is due, as far as connections are free. */
  function send(): void {
    const nowMs = performance.now();
    const due = Math.min(total, Math.floor(((nowMs - startMs) / 1000) * perSecond));
    while (sent < due) {
      // Use the connection that has been free longest, so that the service closes none as idle.
      let line = free.shift();
      while (line?.closed) line = free.shift();
      if (line === undefined) return;
      const dueMs = startMs + (sent / perSecond) * 1000;
      arrivals.latestMs = Math.max(arrivals.latestMs, nowMs - dueMs);
      line.sentMs = nowMs;
      line.socket.write(requests[sent % requests.length]!);
      sent += 1;
    }
  }

  for (let open = 0; open < connections; open += 100) {
    await Promise.all(Array.from({ length: Math.min(100, connections - open) }, connect));
  }
  startMs = performance.now();
  const endMs = startMs + seconds * 1000 + PATIENCE_MS;
  while (answered < total && performance.now() < endMs) {
    send();
    await Bun.sleep(1);
  }
  arrivals.unanswered = total - answered;
  return arrivals;
}

/** A queue of at most so many items, without the cost of `Array.shift`. */
function createRing<Item>(size: number): { push(item: Item): void; shift(): Item | undefined } {
  const items: (Item | undefined)[] = new Array(size);
  let first = 0;
  let count = 0;
  return {
    push(item) {
      items[(first + count) % size] = item;
      count += 1;
    },
    shift() {
      if (count === 0) return undefined;
      const item = items[first];
      items[first] = undefined;
      first = (first + 1) % size;
      count -= 1;
      return item;
    },
  };
}

/** The status of an answer that has arrived whole; null: not yet. Every answer of the service says its length. */
function completeStatus(received: Buffer): number | null {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = received.toString('latin1', 0, end + 2);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  return received.length >= end + 4 + Number(length ?? 0) ? Number(head.slice(9, 12)) : null;
}

if (import.meta.main) {
  const arrivals = await generate(JSON.parse(readFileSync(0, 'utf8')) as Schedule);
  process.stdout.write(JSON.stringify(arrivals), () => process.exit(0));
}
