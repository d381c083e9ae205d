/** A place, until its holder calls `leave`. */
export interface Place {
  /** Whether its holder has waited for it. */
  hasWaited: boolean;
  leave(): void;
}

/** So many holders at a time. Others wait for a place in the order in which they came. */
export function createPlaces(count: number) {
  let free = count;
  const waiting = new Set<() => void>();

  function leave(): void {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  /** @returns `null` if no place was free in time */
  async function enter(timeoutMs: number): Promise<Place | null> {
    if (free > 0) {
      free -= 1;
      return { hasWaited: false, leave };
    }
    const { promise, resolve } = Promise.withResolvers<Place | null>();
    const take = () => {
      clearTimeout(timer);
      resolve({ hasWaited: true, leave });
    };
    const timer = setTimeout(() => {
      waiting.delete(take);
      resolve(null);
    }, timeoutMs);
    waiting.add(take);
    return promise;
  }

  return { enter };
}
