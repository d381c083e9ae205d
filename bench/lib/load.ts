/**
 * The load generator of all programs: each connection sends its next request as soon as it has its answer.
 *
 * `bun bench/lib/load.ts` reads a {@link Schedule} from stdin and writes a {@link Load} to stdout. It is a separate process, so that
 * nothing else delays it. It shares the machine with the service, so it keeps to buffers.
 */
import { readFileSync } from 'node:fs';

interface Target {
  host: string;
  port: number;
  /** Whole requests as they go over the wire, sent in turn. */
  requests: string[];
}

export interface Schedule extends Target {
  connections: number;
  seconds: number;
}

export interface Load {
  /** Milliseconds from the sending to the answer, in order, by status. Status 0: the connection ended without an answer. */
  times: Record<number, number[]>;
  /** Requests that had no answer when the generator gave up. */
  unanswered: number;
  /** Seconds from the first request to the last answer. */
  seconds: number;
}

/** For the last answers. */
const PATIENCE_MS = 10_000;

/** Runs the generator in a separate process. */
export async function runLoad(schedule: Schedule): Promise<Load> {
  const generator = Bun.spawn([process.execPath, import.meta.path], { stdin: 'pipe', stdout: 'pipe' });
  generator.stdin.write(JSON.stringify(schedule));
  await generator.stdin.end();
  const report = await new Response(generator.stdout).text();
  if ((await generator.exited) !== 0) throw new Error('the load generator failed');
  return JSON.parse(report) as Load;
}

/** The figures of a load with one right status: answers a second and milliseconds. */
export function figuresOf({ times, unanswered, seconds }: Load, right = 200) {
  const sorted = times[right] ?? [];
  const all = Object.values(times).reduce((sum, { length }) => sum + length, unanswered);
  return {
    answers: sorted.length,
    perSecond: sorted.length / seconds,
    p50Ms: at(sorted, 0.5),
    p99Ms: at(sorted, 0.99),
    /** Requests without a right answer. */
    wrong: all - sorted.length,
  };
}

/** The value below which this share of the sorted values lies. */
function at(sorted: number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

/** A GET request as it goes over the wire. */
export function get(path: string, key?: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: bench\r\n${authorization(key)}\r\n`;
}

/** A POST of JSON as it goes over the wire. */
export function post(path: string, body: unknown, key?: string): string {
  const json = JSON.stringify(body);
  const headers = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n`;
  return `POST ${path} HTTP/1.1\r\nHost: bench\r\n${authorization(key)}${headers}\r\n${json}`;
}

const authorization = (key?: string) => (key === undefined ? '' : `Authorization: Bearer ${key}\r\n`);

/** A connection. */
interface Line {
  socket: Bun.Socket<Line>;
  /** When its request was sent. `null` means that it is free. */
  sentMs: number | null;
  /** The part of the request that the socket has not taken yet. */
  rest: Buffer | null;
  /** The beginning of an answer that did not arrive whole. */
  received: Buffer | null;
  closed: boolean;
}

async function generate({ host, port, requests, connections, seconds }: Schedule): Promise<Load> {
  const times: Load['times'] = {};
  /** Free connections. The first has been free longest, and gets the next request, so that the service closes none as idle. */
  const free: Line[] = [];
  let sent = 0;
  let answered = 0;
  let endMs = 0;
  let lastMs = 0;

  function settle(line: Line, status: number): void {
    if (line.sentMs === null) return;
    lastMs = performance.now();
    times[status] ??= [];
    times[status].push(lastMs - line.sentMs);
    answered += 1;
    line.sentMs = null;
    line.received = null;
  }

  function write(line: Line, bytes: Buffer): void {
    const taken = line.socket.write(bytes);
    line.rest = taken < bytes.length ? bytes.subarray(Math.max(taken, 0)) : null;
  }

  async function connect(): Promise<void> {
    const line: Partial<Line> = { sentMs: null, rest: null, received: null, closed: false };
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
        drain({ data }) {
          if (data.rest !== null) write(data, data.rest);
        },
        close({ data }) {
          settle(data, 0);
          data.closed = true;
        },
      },
    });
    free.push(line as Line);
  }

  /** Sends on each free connection until the time is over. */
  function send(): void {
    const nowMs = performance.now();
    while (nowMs < endMs) {
      const line = free.shift();
      if (line === undefined) return;
      if (line.closed) continue;
      line.sentMs = nowMs;
      write(line, Buffer.from(requests[sent % requests.length]!));
      sent += 1;
    }
  }

  for (let open = 0; open < connections; open += 100) {
    await Promise.all(Array.from({ length: Math.min(100, connections - open) }, connect));
  }
  const startMs = performance.now();
  endMs = startMs + seconds * 1000;
  for (let nowMs = startMs; nowMs < endMs || (answered < sent && nowMs < endMs + PATIENCE_MS); ) {
    send();
    await Bun.sleep(1);
    nowMs = performance.now();
  }
  for (const each of Object.values(times)) each.sort((a, b) => a - b);
  return { times, unanswered: sent - answered, seconds: Math.max(lastMs - startMs, 1) / 1000 };
}

/** The status of an answer that has arrived whole. `null` means that it has not. */
function completeStatus(received: Buffer): number | null {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = received.toString('latin1', 0, end + 2);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  const isWhole =
    length === undefined && /\r\ntransfer-encoding: chunked/i.test(head)
      ? received.toString('latin1', received.length - 7) === '\r\n0\r\n\r\n'
      : received.length >= end + 4 + Number(length ?? 0);
  return isWhole ? Number(head.slice(9, 12)) : null;
}

if (import.meta.main) {
  const load = await generate(JSON.parse(readFileSync(0, 'utf8')) as Schedule);
  process.stdout.write(JSON.stringify(load), () => process.exit(0));
}
