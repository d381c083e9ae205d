/**
 * The log, the metrics (`metrics.ts`, `request-counts.ts`) and the removal of secrets (`redaction.ts`). Two writers share the log: pino,
 * and a faster writer here for the line of each request. No line holds a secret, a query, a name or a NIF.
 */
import pino from 'pino';
import { codeOf, messageOf } from '../errors.ts';
import { KIB, MINUTE } from '../units.ts';

/** One JSON object a line, without any key, secret, query, name or NIF. */
export type Log = pino.Logger & {
  /** Writes the line of a request in pino's format. Pino itself takes three times as long, and each request has a line. */
  request(line: RequestLine): void;
  /** Writes an unexpected error with its stack, at most once a minute for each message, because every request may meet it. */
  bug(error: unknown, what: string): void;
};

export interface RequestLine {
  requestId: string;
  /** The call of the account's activity. Unlike `requestId`, which the caller can choose, it belongs to this request alone. */
  callId: string;
  method: string;
  /** The route's template, never the requested address. */
  route: string;
  status: number;
  durationMs: number;
  /** `undefined` means that the caller is not known. */
  account: string | undefined;
  /** The id of the caller's key; empty or `undefined` for a request without a key. */
  keyId: string | undefined;
  /** Credits that it has cost; `undefined` means that the caller is not known. */
  credits: number | undefined;
  /** The caller's trace, 32 hexadecimal digits. */
  traceId?: string | undefined;
  /** The request was made with a test key. */
  isTest: boolean;
  /** The error of a failed dependency. */
  error: unknown;
  /** The tool that an agent has called; `undefined` for a request of the route itself. */
  tool?: string;
}

export type LogTarget = 'stdout' | 'stderr';

/** Lines of requests are written when this much is gathered (UTF-16 units), or after a moment. */
const WRITE_CHARS = 64 * KIB;
const WRITE_EVERY_MS = 100;

/**
 * The service's log, by default on stdout. Lines of requests are buffered for up to 100 ms. To write them each turn of the event
 * loop took 1 µs of a lookup, and pino's writer took a tenth of one. All other lines are written at once.
 * `close` writes the rest. Lines that can't be written, because their reader has gone or a disk is full, are lost, and stderr has one
 * line about it.
 */
export function createLog(target: LogTarget = 'stdout'): { log: Log; close(): Promise<void> } {
  const writer = Bun.file(target === 'stdout' ? 1 : 2).writer({ highWaterMark: WRITE_CHARS });
  let gathered = '';
  let isFailing = false;
  async function write(line = ''): Promise<void> {
    const text = gathered + line;
    gathered = '';
    try {
      await Promise.all([writer.write(text), writer.flush()]);
      isFailing = false;
    } catch (error) {
      if (!isFailing) console.error(`the log can't be written, and the service goes on: ${messageOf(error)}`);
      isFailing = true;
    }
  }
  function gather(line: string): void {
    gathered += line;
    if (gathered.length >= WRITE_CHARS) void write();
  }
  const timer = setInterval(() => void (gathered !== '' && write()), WRITE_EVERY_MS);
  timer.unref();
  return {
    log: createLogTo({ write: (line) => void write(line) }, { write: gather }),
    async close() {
      clearInterval(timer);
      await write();
    },
  };
}

/** The same log, written to the caller's streams. @param requests gets the lines of requests */
export function createLogTo(destination: pino.DestinationStream, requests = destination): Log {
  const log = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: serializeError } },
    destination,
  );
  const bug = createBugWriter((error, what) => log.error({ err: error }, what));
  return Object.assign(log, { request: createRequestWriter(requests), bug });
}

const BUG_EVERY_MS = 1 * MINUTE;
/** The most messages that are remembered. */
const MAX_BUGS = 100;

function createBugWriter(write: (error: unknown, what: string) => void): Log['bug'] {
  const writtenMs = new Map<string, number>();
  return (error, what) => {
    const message = nameAndMessage(error);
    const nowMs = performance.now();
    if (nowMs - (writtenMs.get(message) ?? Number.NEGATIVE_INFINITY) < BUG_EVERY_MS) return;
    if (writtenMs.size >= MAX_BUGS) writtenMs.clear();
    writtenMs.set(message, nowMs);
    write(error, what);
  };
}

function createRequestWriter(destination: pino.DestinationStream): Log['request'] {
  let timeMs = 0;
  let time = '';
  return (line) => {
    const { account, keyId, credits, error, tool, traceId } = line;
    const nowMs = Date.now();
    if (nowMs !== timeMs) {
      timeMs = nowMs;
      time = new Date(nowMs).toISOString();
    }
    const hasFailed = error !== undefined;
    const level = hasFailed ? pino.levels.values.warn : pino.levels.values.info;
    // Only the error can have characters that JSON escapes. The others are our ids, methods, route templates and names of tools.
    const traced = traceId === undefined ? '' : `,"trace_id":"${traceId}"`;
    const asTool = tool === undefined ? '' : `,"tool":"${tool}"`;
    const whose =
      (account ? `,"account":"${account}"` : '') +
      (keyId ? `,"key_id":"${keyId}"` : '') +
      (credits === undefined ? '' : `,"credits":${credits}`) +
      (line.isTest ? ',"test":true' : '');
    const cause = hasFailed ? `,"error":${JSON.stringify(nameAndMessage(error))}` : '';
    destination.write(
      `{"level":${level},"time":"${time}","requestId":"${line.requestId}","call":"${line.callId}"${traced},"method":"${line.method}","route":"${line.route}"${asTool},` +
        `"status":${line.status},"durationMs":${Math.round(line.durationMs * 100) / 100}${whose}${cause},"msg":"request"}\n`,
    );
  };
}

/** An error in a request's line, without its stack: an outage fails thousands of requests in the same place. */
function nameAndMessage(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${messageOf(error)}` : messageOf(error);
}

/**
 * The logged parts of an error: its kind, code, first line, and stack. Other members are left out, because a database error
 * carries the values of its statement.
 */
function serializeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: messageOf(error) };
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line));
  return {
    type: error.name,
    code: codeOf(error) ?? undefined,
    message: messageOf(error),
    stack: frames?.slice(0, 5).map((line) => line.trim()),
  };
}
