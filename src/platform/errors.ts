/** An operator's request can't be fulfilled. The message is one line with the reason and, if that helps, what to do. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** The code of a system, network or database error (`ECONNREFUSED`, `55P03`); `null` when the error has none. */
export function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : null;
}

const LANGUAGE_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError, URIError, EvalError];

/**
 * Whether an error is a fault of this program, and not of a dependency: an error that the language itself throws.
 *
 * An error with a code is never a bug. Bun's `fetch` throws a `TypeError` for every connection that fails, and Node's
 * buffers a `RangeError` for a truncated message. All of them carry a code, and the language's own errors do not.
 */
export function isBug(error: unknown): boolean {
  return LANGUAGE_ERRORS.some((kind) => error instanceof kind) && codeOf(error) === null;
}

/** The one line of an error that is fit for a terminal or a log. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.split('\n', 1)[0] ?? '';
}

/** SQLSTATE of Postgres. */
const DISK_FULL = '53100';

/** The line about a failed command: {@link messageOf}, with the remedy if the error has a known one. */
export function adviceOf(error: unknown): string {
  const message = messageOf(error);
  if (codeOf(error) === DISK_FULL) return `${message}: free some space on Postgres's disk and run it again`;
  // In postgres.js's words.
  return message.replace(/^write CONNECT_TIMEOUT /, 'no answer from ');
}
