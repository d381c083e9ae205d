import { isBug } from '../errors.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { Log } from '../observability/log.ts';
import type { Sql } from '../postgres/connect.ts';
import { type CompanySource, SourceFault } from '../sources/types.ts';
import { SECOND } from '../units.ts';
import { takeRefresh } from './budget.ts';
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

/** Whose budget a refresh is taken from. */
type Payer = Pick<Caller, 'accountId' | 'requestsPerMinute'>;

/** `over-budget`: the account has caused as many refreshes today as it may, and no source was asked. */
export type RefreshResult = RefreshOutcome | 'over-budget';

export interface Refresher {
  /**
   * Brings the record of a NIF up to date and stores it. Callers that ask for a NIF that is being refreshed, here or on
   * another instance, wait and share the outcome, failure included (contract: refresh). Only the caller that begins a refresh
   * pays for it from its account's budget of the day.
   */
  refresh(nif: string, caller: Payer): Promise<RefreshResult>;
  /** Removes the traces of ended refreshes; to be called now and then. */
  sweep: () => Promise<void>;
}

/** How often those who wait for another instance look: at first, and at most. */
const FIRST_LOOK_MS = 25;
const SLOWEST_LOOK_MS = 250;

export function createRefresher(options: RefresherOptions): Refresher {
  const { sql, sources, providerTimeoutMs, findCompany, log, onAnswer } = options;
  /** Longest that an attempt can take: two sources, and storing what they said. */
  const attemptMs = 2 * providerTimeoutMs + 1 * SECOND;
  const leases = createRefreshLeases(sql, attemptMs);
  const running = new Map<string, { accountId: string; result: Promise<RefreshResult> }>();

  async function refresh(nif: string, caller: Payer): Promise<RefreshResult> {
    for (;;) {
      let attempt = running.get(nif);
      if (attempt === undefined) {
        const result = leadOrFollow(nif, caller).finally(() => running.delete(nif));
        attempt = { accountId: caller.accountId, result };
        running.set(nif, attempt);
      }
      const result = await attempt.result;
      // One account's budget says nothing about another's: this one begins the refresh itself.
      if (result !== 'over-budget' || attempt.accountId === caller.accountId) return result;
    }
  }

  async function leadOrFollow(nif: string, caller: Payer): Promise<RefreshResult> {
    const giveUpAtMs = performance.now() + attemptMs;
    const first = await leases.acquire(nif);
    if (first.state === 'ours') return lead(nif, first.attempt, caller);
    let followed: typeof first = first;
    for (
      let pauseMs = FIRST_LOOK_MS;
      performance.now() < giveUpAtMs;
      pauseMs = Math.min(pauseMs * 1.5, SLOWEST_LOOK_MS)
    ) {
      if (followed.state === 'ended') return followed.outcome;
      await Bun.sleep(pauseMs);
      const now = await leases.read(nif);
      // The attempt that we followed is gone: its process died, or its account had no budget. We begin again.
      if (now === null) return leadOrFollow(nif, caller);
      followed = now;
    }
    return 'failed';
  }

  async function lead(nif: string, attempt: string, caller: Payer): Promise<RefreshResult> {
    try {
      // Between our reading the stored record and our getting the lease another attempt may have ended.
      const stored = await findCompany(nif);
      if (stored?.fresh === true) {
        await leases.complete(nif, attempt, 'found');
        return 'found';
      }
      if (!(await takeRefresh(sql, caller))) {
        await leases.release(nif, attempt);
        return 'over-budget';
      }
      const outcome = await askSources(nif, attempt);
      if (outcome !== 'found') await leases.complete(nif, attempt, outcome);
      return outcome;
    } catch (error) {
      // A failure of Postgres says nothing about the sources: those that follow begin a refresh themselves.
      const ended = isBug(error) ? leases.complete(nif, attempt, 'failed') : leases.release(nif, attempt);
      ended.catch(() => {}); // the lease runs out by itself
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
          const isStored = await leases.completeWithRecord(nif, attempt, answer.details, source.name);
          return isStored ? 'found' : outcomeOfOthers(nif);
        }
      } catch (error) {
        if (!(error instanceof SourceFault)) throw error;
        onAnswer?.(source.name, error.reason);
        // A skipped source has failed and been logged before. During a month's limit the line would repeat at every lookup.
        if (error.reason !== 'skipped')
          log.warn({ source: source.name, reason: error.reason }, 'a source failed');
      }
    }
    return 'failed';
  }

  /** The outcome of a NIF whose lease we lost: the process that took it may have found the company. There is no time to wait for it. */
  async function outcomeOfOthers(nif: string): Promise<RefreshOutcome> {
    const now = await leases.read(nif);
    return now?.state === 'ended' ? now.outcome : 'failed';
  }

  return { refresh, sweep: leases.sweep };
}
