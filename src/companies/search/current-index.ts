import type { Client } from '@elastic/elasticsearch';
import type { Sql } from '../../platform/postgres/connect.ts';
import type { Bound } from '../../platform/runtime/timeout.ts';
import { CONFIRMED_MS, type CurrentGeneration, readDirectoryId, selectCurrent } from './generation.ts';
import { belongsToDirectory } from './index-meta.ts';
import { DirectoryAwayError } from './search.ts';

/** The most attempts while imports replace the generation. */
const MAX_ATTEMPTS = 4;

/** The directory has no index that can be asked, so the search was not tried. */
export class NoIndexError extends DirectoryAwayError {
  override readonly message = 'the directory has no search index: run "index rebuild"';
}

/** The index of the current generation, as Postgres names it. */
export interface CurrentIndex {
  /**
   * Runs `work` on the current generation. If no read of the last {@link CONFIRMED_MS} tells which that is, it runs on the last known
   * one, beside a read. If the generation is found to be another one, also after a failure of `work`, `work` begins again.
   *
   * @param work gets a generation with `index: null` if its index is not this directory's
   */
  read<T>(work: (generation: CurrentGeneration) => Promise<T>, bound: Bound): Promise<T>;
  /** The current index; `null` if no read of the last {@link CONFIRMED_MS} tells. */
  confirmed(): string | null;
}

/** @param sql a pool */
export function createCurrentIndex(client: Client, sql: Sql): CurrentIndex {
  let known: CurrentGeneration | null = null;
  let knownAtMs = Number.NEGATIVE_INFINITY;

  async function learn(bound: Bound): Promise<CurrentGeneration> {
    const beganMs = performance.now();
    let [current] = await bound(selectCurrent(sql));
    const { index } = current;
    if (index !== null && index !== known?.index) {
      const isOwn = await bound(belongsToDirectory(client, index, await bound(readDirectoryId(sql))));
      if (!isOwn) current = { ...current, index: null };
    }
    // Reads may end in another order than they began.
    if (beganMs >= knownAtMs) {
      known = current;
      knownAtMs = beganMs;
    }
    return current;
  }

  const isConfirmed = () => performance.now() - knownAtMs < CONFIRMED_MS;
  const isSame = (one: CurrentGeneration, other: CurrentGeneration) =>
    one.id === other.id && one.index === other.index;

  return {
    async read(work, bound) {
      for (let attempt = 1; ; attempt += 1) {
        const used = known ?? (await learn(bound));
        try {
          const [outcome, current] = await Promise.all([work(used), isConfirmed() ? used : learn(bound)]);
          if (isSame(used, current)) return outcome;
          if (attempt === MAX_ATTEMPTS) throw new Error('the directory was replaced again and again');
        } catch (error) {
          // Without an answer of Postgres the failure of the work stays.
          const current = await learn(bound).catch(() => used);
          if (attempt === MAX_ATTEMPTS || isSame(used, current)) throw error;
        }
      }
    },
    confirmed: () => (isConfirmed() ? known!.index : null),
  };
}

/** The index of a generation. @throws NoIndexError */
export function indexOf({ index }: CurrentGeneration): string {
  if (index === null) throw new NoIndexError();
  return index;
}
