import { SECOND } from '../../platform/units.ts';
import { isOfSource, SourceError, type SourceErrorReason, type SourceName } from './types.ts';

const COMPANIES_TO_OPEN = 10;
/** An open breaker lets no attempt through in this time, and then one probe at a time. */
const QUIET_MS = 5 * SECOND;
/** How long a breaker stays open after the last fault, whether a probe was answered or not (docs/architecture.md: a request). */
const OPEN_MS = 10 * SECOND;

/** Faults of the connection to a source. Other faults come from a source that answers promptly. */
const COUNTED: ReadonlySet<SourceErrorReason> = new Set<SourceErrorReason>([
  'timeout',
  'unreachable',
  'certificate',
  'redirect',
  'http-status',
  'too-large',
  'unreadable',
]);

/** Runs an attempt to find a NIF, or throws SourceError `skipped` without running it. */
export type Breaker = <T>(nif: string, attempt: () => Promise<T>) => Promise<T>;

/**
 * A circuit breaker for one source (docs/architecture.md: a request). It opens after counted faults in a row about ten companies, for 10 s at
 * most, and closes with the first answer. Every further fault opens it again. Repeated faults about one company count once, so
 * that a client can't close a source for all by asking for one odd company ten times.
 */
export function createBreaker(source: SourceName, now: () => number): Breaker {
  /** Companies that a fault was about since the last answer. */
  const failed = new Set<string>();
  let openedAtMs = 0;
  let probing = false;

  function access(): 'free' | 'probe' | 'skip' {
    if (failed.size < COMPANIES_TO_OPEN) return 'free';
    const openMs = now() - openedAtMs;
    if (openMs >= OPEN_MS) return 'free';
    return openMs >= QUIET_MS && !probing ? 'probe' : 'skip';
  }

  return async (nif, attempt) => {
    const given = access();
    if (given === 'skip') throw new SourceError(source, 'skipped');
    if (given === 'probe') probing = true;
    try {
      const answer = await attempt();
      failed.clear();
      return answer;
    } catch (error) {
      if (isOfSource(error)) {
        if (!COUNTED.has(error.reason)) failed.clear();
        else if (failed.size < COMPANIES_TO_OPEN) failed.add(nif);
        openedAtMs = now();
      }
      throw error;
    } finally {
      if (given === 'probe') probing = false;
    }
  };
}
