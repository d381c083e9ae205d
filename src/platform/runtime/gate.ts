import { OverloadedError } from './timeout.ts';

export interface GateLimits {
  places: number;
  /** Requests of one client in flight at most. */
  placesOfOne: number;
  /** Requests that may wait for a place. */
  maxWaiting: number;
  /** A request that waits longer for its place is refused. */
  maxWaitMs: number;
}

interface Waiting {
  enter(): void;
  refuse(reason: string): void;
}

/**
 * Bounds the requests in flight. Clients get places in turn, one request each. If too many requests wait, the client with the most
 * of them loses its latest. So a crowd delays its own client alone.
 */
export function createGate({ places, placesOfOne, maxWaiting, maxWaitMs }: GateLimits) {
  /** Places in use, by client. */
  const held = new Map<string, number>();
  /** Waiting requests, oldest first, by client, in the order of their turns. */
  const queues = new Map<string, Waiting[]>();
  let inUse = 0;
  let waiting = 0;

  function deal(): void {
    for (const [client, queue] of queues) {
      if (inUse === places) return;
      if ((held.get(client) ?? 0) < placesOfOne) {
        // The turn after this one comes when all other clients have had theirs.
        queues.delete(client);
        queues.set(client, queue);
        queue[0]!.enter();
      }
    }
  }

  function take(client: string): () => void {
    inUse += 1;
    held.set(client, (held.get(client) ?? 0) + 1);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      inUse -= 1;
      const left = held.get(client)! - 1;
      if (left === 0) held.delete(client);
      else held.set(client, left);
      deal();
    };
  }

  function refuseOne(client: string): void {
    let longest = queues.get(client)!;
    for (const queue of queues.values()) if (queue.length > longest.length) longest = queue;
    longest.at(-1)!.refuse('too many requests wait for a place');
  }

  return {
    /** Whether a request would have to wait now. */
    isFull: () => inUse === places,
    /** Whether another client, without a place, waits for one. */
    isWantedBeside: (client: string) => queues.keys().some((other) => other !== client && !held.has(other)),
    /**
     * Waits for a place.
     *
     * @returns gives the place back; a repetition does nothing
     * @throws OverloadedError when too many wait, or the place is not free in time
     */
    enter(client: string): Promise<() => void> {
      return new Promise((resolve, reject) => {
        const queue = queues.get(client) ?? [];
        const leaveQueue = () => {
          clearTimeout(timer);
          waiting -= 1;
          queue.splice(queue.indexOf(one), 1);
          if (queue.length === 0) queues.delete(client);
        };
        const one: Waiting = {
          enter() {
            leaveQueue();
            resolve(take(client));
          },
          refuse(reason) {
            leaveQueue();
            reject(new OverloadedError(reason));
          },
        };
        const timer = setTimeout(() => one.refuse('waited too long for a place'), maxWaitMs);
        waiting += 1;
        queue.push(one);
        queues.set(client, queue);
        deal();
        if (waiting > maxWaiting) refuseOne(client);
      });
    },
  };
}

export type Gate = ReturnType<typeof createGate>;
