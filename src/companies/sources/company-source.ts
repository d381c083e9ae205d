import { SECOND } from '../../platform/units.ts';
import { createJsonClient, type Question } from './source-client.ts';
import {
  type CompanySource,
  isOfSource,
  type SourceAnswer,
  SourceError,
  type SourceErrorReason,
  type SourceName,
} from './source-types.ts';

const COMPANIES_TO_OPEN = 10;
/** An open breaker lets nothing through for this long after the last fault. */
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

/**
 * A circuit breaker for one source. It opens after counted faults in a row about ten companies, and
 * closes with the first answer. Every further fault opens it again. Repeated faults about one company count once, so
 * that a client can't close a source for all by asking for one odd company ten times.
 * @returns runs an attempt to find a NIF, or throws SourceError `skipped` without running it
 */
export function createBreaker(source: SourceName, now: () => number) {
  /** Companies that a fault was about since the last answer. */
  const failed = new Set<string>();
  let faultAtMs = 0;

  return async <T>(nif: string, attempt: () => Promise<T>): Promise<T> => {
    const isOpen = failed.size >= COMPANIES_TO_OPEN && now() - faultAtMs < OPEN_MS;
    if (isOpen) throw new SourceError(source, 'skipped');
    try {
      const answer = await attempt();
      failed.clear();
      return answer;
    } catch (error) {
      if (isOfSource(error)) {
        if (!COUNTED.has(error.reason)) failed.clear();
        else if (failed.size < COMPANIES_TO_OPEN) failed.add(nif);
        faultAtMs = now();
      }
      throw error;
    }
  };
}

/**
 * A source with its own connections and circuit breaker.
 * @param ask finds a company by the requests of one question
 */
export function createSource(
  name: SourceName,
  timeoutMs: number,
  now: () => number,
  ask: (nif: string, question: Question) => Promise<SourceAnswer>,
): CompanySource {
  const client = createJsonClient(name, timeoutMs);
  const guarded = createBreaker(name, now);
  return {
    name,
    find: (nif, permit = async () => {}) => guarded(nif, () => ask(nif, client.begin(permit))),
    close: () => client.close(),
  };
}
