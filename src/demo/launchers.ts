import { readFileSync } from 'node:fs';
import { SECOND } from '../platform/units.ts';

/**
 * Aborts when a program that launched the demo has ended without a word to it. Nobody would stop the demo and its Postgres any
 * more. `npx bun run demo` is a chain of such programs (npm, a shell, `bun run`), of which npm passes on no signal.
 */
export function withoutLaunchers(): AbortSignal {
  const links = launchLinks();
  const alone = new AbortController();
  const watch = () => links.some(([child, parent]) => parentOf(child) !== parent) && alone.abort();
  setInterval(watch, 0.5 * SECOND).unref();
  return alone.signal;
}

/**
 * Pairs of a process and its parent, from this one up to the first launcher. `npm` and `bun run` give what they launch a
 * variable, so a process without it is the last one to watch: its parent is a shell or service that may end before the demo.
 */
function launchLinks(): [child: number, parent: number][] {
  const links: [number, number][] = [];
  for (let child = process.pid; child > 1 && (child === process.pid || isLaunched(child)); ) {
    const parent = parentOf(child);
    links.push([child, parent]);
    child = parent;
  }
  return links;
}

function isLaunched(pid: number): boolean {
  try {
    return /(^|\0)npm_lifecycle_event=/.test(readFileSync(`/proc/${pid}/environ`, 'utf8'));
  } catch {
    // It has ended, is another user's, or this is not Linux, where the direct parent alone is watched.
    return false;
  }
}

/** @returns 0 for a process that has ended */
function parentOf(pid: number): number {
  if (pid === process.pid) return process.ppid;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before may have spaces and brackets in it.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
