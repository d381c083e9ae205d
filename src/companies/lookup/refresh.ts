import type { Log } from '../../platform/observability/log.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { OverloadedError } from '../../platform/runtime/timeout.ts';
import { SECOND } from '../../platform/units.ts';
import { type CompanySource, type Permit, SourceError } from '../sources/source-types.ts';
import { createRefreshLeases, type RefreshOutcome } from './lease.ts';
import type { FindCompany, StoredCompany } from './lookup-store.ts';
import { type Payer, type RefreshBounds, RefreshesUsedUpError } from './refresh-bounds.ts';

export interface RefresherOptions {
  sql: Sql;
  /** In the order in which they are asked. */
  sources: CompanySource[];
  providerTimeoutMs: number;
  bounds: RefreshBounds;
  findCompany: FindCompany;
  log: Log;
  /** Gets the outcome of each question to a source: `found`, `not-found`, `unknown`, or the reason of its fault. */
  onAnswer?: (source: string, outcome: string) => void;
}

/** The refreshed record. `failed` means that no source could tell. */
type RefreshResult = StoredCompany | 'not-found' | 'failed';

export type Refresher = ReturnType<typeof createRefresher>;

/** The time of the caller that would have begun a refresh was up before a source was asked. */
class LateError extends Error {
  override readonly name = 'LateError';
}

/** The pause between two reads of another instance's lease: at first, and at most. */
const FIRST_POLL_MS = 25;
const SLOWEST_POLL_MS = 250;

export function createRefresher(options: RefresherOptions) {
  const { sql, sources, providerTimeoutMs, bounds, findCompany, log, onAnswer } = options;
  /** The longest attempt: two sources, and the storing of the record. */
  const attemptMs = 2 * providerTimeoutMs + 1 * SECOND;
  const leases = createRefreshLeases(sql, attemptMs);
  const running = new Map<string, { accountId: string; result: Promise<RefreshResult> }>();

  /**
   * Brings the record of a NIF up to date and stores it. Callers that ask for a NIF that is being refreshed, here or on
   * another instance, wait and share the outcome, failure included (docs/api.md: refresh). Only the caller that begins a refresh
   * pays for it, and only when a source is asked.
   *
   * @param untilMs the caller waits until then, by `performance.now()`; afterwards no refresh begins for it
   * @throws RefreshesUsedUpError when the account, or all together, have used up their refreshes
   * @throws another error when this service failed, and not the sources
   */
  async function refresh(nif: string, caller: Payer, untilMs: number): Promise<RefreshResult> {
    for (;;) {
      let attempt = running.get(nif);
      if (attempt === undefined) {
        const result = leadOrFollow(nif, caller, untilMs).finally(() => running.delete(nif));
        attempt = { accountId: caller.accountId, result };
        running.set(nif, attempt);
      }
      try {
        return await attempt.result;
      } catch (error) {
        // The first caller's bounds and time say nothing about those of another caller, which begins the refresh itself.
        const isOnlyItsOwn =
          (error instanceof RefreshesUsedUpError && attempt.accountId !== caller.accountId) ||
          (error instanceof LateError && performance.now() < untilMs);
        if (!isOnlyItsOwn) throw error;
      }
    }
  }

  async function leadOrFollow(nif: string, caller: Payer, untilMs: number): Promise<RefreshResult> {
    for (;;) {
      const attempt = await leases.acquire(nif);
      if (attempt !== null) return lead(nif, attempt, caller, untilMs);
      const outcome = await follow(nif, untilMs);
      const result = outcome === 'found' ? await findCompany(nif) : outcome;
      // The attempt is gone (its process died, or it could not ask), or an operator has removed the record since. We begin again.
      if (result !== null) return result;
    }
  }

  /** Waits for the end of another instance's attempt. @returns `null` if it is gone */
  async function follow(nif: string, untilMs: number): Promise<RefreshOutcome | null> {
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * 1.5, SLOWEST_POLL_MS)) {
      const state = await leases.read(nif);
      if (state !== 'under-way') return state;
      if (performance.now() >= untilMs)
        throw new LateError('the refresh of another instance did not end in time');
      await Bun.sleep(pauseMs);
    }
  }

  async function lead(nif: string, attempt: string, caller: Payer, untilMs: number): Promise<RefreshResult> {
    try {
      // Between our reading the stored record and our getting the lease another attempt may have ended.
      const stored = await findCompany(nif);
      if (stored?.fresh === true) {
        await leases.complete(nif, attempt, 'found');
        return stored;
      }
      let isPaid = false;
      const result = await askSources(nif, attempt, async () => {
        if (isPaid) return;
        if (performance.now() >= untilMs) throw new LateError('nobody waits for the refresh any more');
        await bounds.take(caller);
        isPaid = true;
      });
      if (typeof result === 'string') await leases.complete(nif, attempt, result);
      return result;
    } catch (error) {
      // Our own failure says nothing about the sources, so the lookups that wait begin a refresh themselves.
      leases.release(nif, attempt).catch(() => {}); // the lease runs out by itself
      throw error;
    }
  }

  /** Asks one source after another until one knows. @param permit called before each request to a source */
  async function askSources(nif: string, attempt: string, permit: Permit): Promise<RefreshResult> {
    let isBusy = false;
    for (const source of sources) {
      try {
        const answer = await source.find(nif, permit);
        onAnswer?.(source.name, answer.kind);
        if (answer.kind === 'not-found') return 'not-found';
        if (answer.kind === 'found') {
          const isStored = await leases.completeWithRecord(nif, attempt, answer.details, source.name);
          const company = isStored ? await findCompany(nif) : null;
          if (company === null) throw new LateError('the record came when its lease had expired');
          return company;
        }
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        onAnswer?.(source.name, error.reason);
        isBusy ||= error.reason === 'busy';
        // A skipped source has failed and been logged before. During a month's limit the line would repeat at every lookup.
        if (error.reason !== 'skipped')
          log.warn({ source: source.name, reason: error.reason }, 'a source failed');
      }
    }
    if (isBusy) throw new OverloadedError('a source could not be asked in time');
    return 'failed';
  }

  return {
    refresh,
    isHeld: leases.isHeld,
    /** Removes rows of refreshes that ended long ago. Call it at intervals. */
    sweep: leases.sweep,
  };
}
