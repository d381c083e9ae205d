import { within } from './deadline.ts';
import { SECOND } from './units.ts';

/** Things to close, in the reverse order of their opening. */
export interface Closers {
  add(what: string, close: () => Promise<unknown>): void;
  /** Closes everything, last in first out; one that fails or hangs (over 5 s) doesn't keep the others open. */
  close(): Promise<void>;
}

export function createClosers(onFailed: (what: string, error: unknown) => void = () => {}): Closers {
  const open: { what: string; close: () => Promise<unknown> }[] = [];
  return {
    add(what, close) {
      open.push({ what, close });
    },
    async close() {
      for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
        await within(entry.close(), 5 * SECOND, `closing ${entry.what}`).catch((error) =>
          onFailed(entry.what, error),
        );
      }
    },
  };
}
