/** An operator asked for what can't be done. The message is one line that says why, and what to do where that helps. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** The one line of an error that is fit for a terminal or a log. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.split('\n', 1)[0] ?? '';
}
