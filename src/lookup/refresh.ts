import type { Log } from '../observability/log.ts';
import type { Sql } from '../postgres/connect.ts';
import { type CompanySource, SourceFault } from '../sources/answer.ts';
import { SECOND } from '../units.ts';
import { createRefreshLeases, type RefreshOutcome } from './lease.ts';
import type { FindCompany } from './store.ts';

export interface RefresherOptions {
  sql: Sql;
  /** In the order in which they are asked. */
  sources: CompanySource[];
  providerTimeoutMs: number;
  findCompany: FindCompany;
  log: Log;
  /** Told what each question to a source came to: `found`, `not-found`, `unknown`, or the reason of its fault. */
  onAnswer?: (source: string, outcome: string) => void;
}

export interface Refresher {
  /**
   * Brings the record of a NIF up to date and stores it. Whoever asks for a NIF that is being refreshed, here or on
   * another instance, waits and shares the outcome, failure included (contract, choice 8).
   */
  refresh(nif: string): Promise<RefreshOutcome>;
  /** Removes the traces of ended refreshes; to be called now and then. */
  sweep(): Promise<void>;
}

/** How often those who wait for another instance look: at first, and at most. */
const FIRST_LOOK_MS = 25;
const SLOWEST_LOOK_MS = 250;

export function createRefresher(options: RefresherOptions): Refresher {
  const { sql, sources, providerTimeoutMs, findCompany, log, onAnswer } = options;
  /** Longest that an attempt can take: two sources, and storing what they said. */
  const attemptMs = 2 * providerTimeoutMs + 1 * SECOND;
  const leases = createRefreshLeases(sql, attemptMs);
  const running = new Map<string, Promise<RefreshOutcome>>();

  function refresh(nif: string): Promise<RefreshOutcome> {
    let attempt = running.get(nif);
    if (attempt === undefined) {
      attempt = leadOrFollow(nif).finally(() => running.delete(nif));
      running.set(nif, attempt);
    }
    return attempt;
  }

  async function leadOrFollow(nif: string): Promise<RefreshOutcome> {
    const giveUpAtMs = performance.now() + attemptMs;
    const first = await leases.acquire(nif);
    if (first.state === 'ours') return lead(nif, first.attempt);
    let followed: typeof first = first;
    for (
      let pauseMs = FIRST_LOOK_MS;
      performance.now() < giveUpAtMs;
      pauseMs = Math.min(pauseMs * 1.5, SLOWEST_LOOK_MS)
    ) {
      if (followed.state === 'ended') return followed.outcome;
      await Bun.sleep(pauseMs);
      const now = await leases.look(nif);
      // The attempt that we followed is gone (its process died): somebody has to begin again.
      if (now === null) return leadOrFollow(nif);
      followed = now;
    }
    return 'failed';
  }

  async function lead(nif: string, attempt: string): Promise<RefreshOutcome> {
    try {
      // Between our reading the stored record and our getting the lease another attempt may have ended.
      const stored = await findCompany(nif);
      if (stored?.fresh === true) {
        await leases.end(nif, attempt, 'found');
        return 'found';
      }
      const outcome = await askSources(nif, attempt);
      if (outcome !== 'found') await leases.end(nif, attempt, outcome);
      return outcome;
    } catch (error) {
      leases.end(nif, attempt, 'failed').catch(() => {}); // the lease runs out by itself
      throw error;
    }
  }

  /** Asks one source after another until one knows. */
  async function askSources(nif: string, attempt: string): Promise<RefreshOutcome> {
    for (const source of sources) {
      try {
        const answer = await source.find(nif);
        onAnswer?.(source.name, answer.kind);
        if (answer.kind === 'not-found') return 'not-found';
        if (answer.kind === 'found') {
          const isStored = await leases.store(nif, attempt, answer.details, source.name);
          return isStored ? 'found' : outcomeOfOthers(nif);
        }
      } catch (error) {
        if (!(error instanceof SourceFault)) throw error;
        onAnswer?.(source.name, error.reason);
        log.warn({ source: source.name, reason: error.reason }, 'a source failed');
      }
    }
    return 'failed';
  }

  /** What became of a NIF whose lease we have lost: whoever took it may have found it. There is no time to wait for them. */
  async function outcomeOfOthers(nif: string): Promise<RefreshOutcome> {
    const now = await leases.look(nif);
    return now?.state === 'ended' ? now.outcome : 'failed';
  }

  return { refresh, sweep: () => leases.sweep() };
}
