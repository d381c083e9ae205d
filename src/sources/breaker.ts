import { SECOND } from '../units.ts';
import { type FaultReason, SourceFault, type SourceName } from './types.ts';

const FAULTS_TO_OPEN = 10;
/** An open breaker admits no attempt in this time, and then one probe at a time. */
const QUIET_MS = 5 * SECOND;
/** How long a breaker stays open after the last fault, whether a probe was answered or not (contract: not found). */
const OPEN_MS = 10 * SECOND;

/**
 * Faults of the connection to a source. Other faults come from a source that answers promptly, often about one NIF only. If
 * they counted, a client could close a source for all by asking for one odd company ten times.
 */
const COUNTED: ReadonlySet<FaultReason> = new Set<FaultReason>([
  'timeout',
  'unreachable',
  'certificate',
  'redirect',
  'http-status',
  'too-large',
  'unreadable',
]);

/** Runs an attempt, or throws SourceFault `skipped` without running it. */
export type Breaker = <T>(attempt: () => Promise<T>) => Promise<T>;

/**
 * A circuit breaker for one source (contract: not found). It opens after ten counted faults in a row, for 10 s at most, and
 * closes with the first answer. Every further fault opens it again.
 */
export function createBreaker(source: SourceName, now: () => number): Breaker {
  let faultsInRow = 0;
  let openedAtMs = 0;
  let probing = false;

  function admission(): 'free' | 'probe' | 'skip' {
    if (faultsInRow < FAULTS_TO_OPEN) return 'free';
    const openMs = now() - openedAtMs;
    if (openMs >= OPEN_MS) return 'free';
    return openMs >= QUIET_MS && !probing ? 'probe' : 'skip';
  }

  return async (attempt) => {
    const admitted = admission();
    if (admitted === 'skip') throw new SourceFault(source, 'skipped');
    if (admitted === 'probe') probing = true;
    try {
      const answer = await attempt();
      faultsInRow = 0;
      return answer;
    } catch (error) {
      if (error instanceof SourceFault && COUNTED.has(error.reason)) {
        faultsInRow++;
        openedAtMs = now();
      } else {
        faultsInRow = 0;
      }
      throw error;
    } finally {
      if (admitted === 'probe') probing = false;
    }
  };
}
