import pino from 'pino';
import { messageOf } from '../errors.ts';

/** One JSON object a line. No key, secret, query, name or NIF ever goes in. */
export type Log = pino.Logger;

export type LogTarget = 'stdout' | 'stderr';

/**
 * The service's log, on stdout unless that is for something else. Lines are gathered for a moment, so that a busy service doesn't write once a request;
 * `close` writes what is left.
 */
export function createLog(target: LogTarget = 'stdout'): { log: Log; close(): Promise<void> } {
  const destination = pino.destination({ dest: target === 'stdout' ? 1 : 2, sync: false, minLength: 8192 });
  const timer = setInterval(() => destination.flush(), 100);
  timer.unref();
  return {
    log: createLogTo(destination),
    async close() {
      clearInterval(timer);
      await new Promise<void>((resolve) => destination.flush(() => resolve()));
    },
  };
}

/** The same log, to a stream of the caller's. */
export function createLogTo(destination: pino.DestinationStream): Log {
  return pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: serializeError } },
    destination,
  );
}

/**
 * What is logged of an error: its kind, code, first line, and where it came from. Not its other members: a database
 * error carries the values of its statement.
 */
function serializeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: messageOf(error) };
  const { code } = error as NodeJS.ErrnoException;
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line));
  return {
    type: error.name,
    code,
    message: messageOf(error),
    stack: frames?.slice(0, 5).map((line) => line.trim()),
  };
}
