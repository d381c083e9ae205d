import { closeSync, copyFileSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { KIB, MIB } from '../../units.ts';
import { giveToOwner, type Layout } from './layout.ts';

/** Postgres's log keeps at most this much, and its predecessor as much again. */
const MAX_LOG_BYTES = 8 * MIB;

/** Opens Postgres's log (mode 0600) to be handed to it as its standard error. */
export function openLog(layout: Layout): { fd: number; bytes: number } {
  limitLog(layout);
  const fd = openSync(layout.log, 'a', 0o600);
  giveToOwner(layout, layout.log);
  return { fd, bytes: logBytes(layout) };
}

/** Moves a log that has grown too long aside. Postgres appends, so it goes on at the new beginning. */
export function limitLog(layout: Layout): void {
  if (logBytes(layout) <= MAX_LOG_BYTES) return;
  const previous = `${layout.log}.1`;
  copyFileSync(layout.log, previous);
  giveToOwner(layout, previous);
  truncateSync(layout.log, 0);
}

/** What was logged after the first `fromByte` bytes. */
export function readLogFrom(layout: Layout, fromByte: number): string {
  const bytes = Buffer.alloc(Math.min(Math.max(logBytes(layout) - fromByte, 0), 64 * KIB));
  const fd = openSync(layout.log, 'r');
  try {
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, fromByte));
  } finally {
    closeSync(fd);
  }
}

function logBytes(layout: Layout): number {
  return statSync(layout.log, { throwIfNoEntry: false })?.size ?? 0;
}
