import { KIB, MIB, MINUTE, SECOND } from '../../platform/units.ts';

/** A reader is this fast on average, or this fast if another account waits for its place. */
const BYTES_PER_MS = (256 * KIB) / SECOND;
const WANTED_BYTES_PER_MS = MIB / SECOND;
/** It makes no progress for this long at most. */
const STALL_MS = 10 * SECOND;
const WANTED_STALL_MS = 5 * SECOND;
/** It has the whole file by then: at the slowest pace 75 MiB, a million rows of a CSV. */
const LONGEST_MS = 5 * MINUTE;

export type Pace = ReturnType<typeof createPace>;

/**
 * How long a download still waits for its reader. A download holds a connection to Postgres and a snapshot, which keeps dead rows
 * of all tables. So its reader may not take as long as it likes, and leaves a place sooner that another account wants.
 *
 * @param isWanted whether an account without a place waits for one
 */
export function createPace(isWanted: () => boolean) {
  const endMs = performance.now() + LONGEST_MS;
  let leftMs = STALL_MS;
  return {
    /** 0 if the time is up. */
    leftMs: () => Math.max(0, Math.min(leftMs, endMs - performance.now())),
    /** The reader has taken so many bytes in this time. */
    took(bytes: number, tookMs: number): void {
      const [bytesPerMs, stallMs] = isWanted()
        ? [WANTED_BYTES_PER_MS, WANTED_STALL_MS]
        : [BYTES_PER_MS, STALL_MS];
      leftMs = Math.min(leftMs - tookMs + bytes / bytesPerMs, stallMs);
    },
  };
}
