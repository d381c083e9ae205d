import { createClosers } from '../closers.ts';
import { within } from '../deadline.ts';
import { repeat } from '../periodic.ts';
import type { Sql } from '../postgres/connect.ts';
import { MINUTE, SECOND } from '../units.ts';
import { findAttempts, undoAttempt } from './refund.ts';

/** A statement that its lost connection left behind has long been over by then, committed or not. */
const OVER_MS = 30 * SECOND;
const LOOK_EVERY_MS = 1 * SECOND;
const LOOK_TIMEOUT_MS = 5 * SECOND;
/** How long moved_calls remembers what was moved. */
export const REMEMBERED_MS = 5 * MINUTE;

/** Statements that spent credits or didn't: the connection was lost before they said. Their callers were told 503. */
export interface Doubts {
  /** Looks for it until it is found, and given back, or can't come any more. */
  add(attempt: string): void;
  /** Looks once more, for the last time. */
  close(): Promise<void>;
}

/** @param onLost told of an attempt that could not be looked for as long as it was remembered */
export function createDoubts(sql: Sql, onLost: (error: unknown) => void): Doubts {
  const sinceMs = new Map<string, number>();

  function giveUp(attempt: string, why: string): void {
    sinceMs.delete(attempt);
    onLost(new Error(`what became of an attempt to spend credits is not known: ${why}`));
  }

  /** @returns whether Postgres answered */
  async function look(): Promise<boolean> {
    const lookedAtMs = performance.now();
    const ageMs = (attempt: string) => lookedAtMs - sinceMs.get(attempt)!;
    const asked = [...sinceMs.keys()];
    let isAway = false;
    try {
      const spent = await within(findAttempts(sql, asked), LOOK_TIMEOUT_MS, 'Postgres');
      for (const attempt of spent) {
        await within(undoAttempt(sql, attempt), LOOK_TIMEOUT_MS, 'Postgres');
        sinceMs.delete(attempt);
      }
    } catch {
      isAway = true;
    }
    for (const attempt of asked) {
      if (!sinceMs.has(attempt)) continue;
      if (ageMs(attempt) > REMEMBERED_MS) giveUp(attempt, 'Postgres was away for too long');
      else if (!isAway && ageMs(attempt) > OVER_MS) sinceMs.delete(attempt);
    }
    return !isAway;
  }

  const closers = createClosers();
  const lookIfAsked = async () => {
    if (sinceMs.size > 0) await look();
  };
  repeat(lookIfAsked, LOOK_EVERY_MS, 'credits in doubt', closers);

  return {
    add: (attempt) => void sinceMs.set(attempt, performance.now()),
    async close() {
      await closers.close();
      if (sinceMs.size === 0 || (await look())) return;
      for (const attempt of [...sinceMs.keys()]) giveUp(attempt, 'Postgres is away while the service stops');
    },
  };
}
