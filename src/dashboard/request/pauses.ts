const MAX_PAUSED = 10_000;

/**
 * The clients that were refused a moment ago. They are refused again without a question to a store, so that refusals in a crowd are cheap.
 * @param nowMs a monotonic clock, for tests
 */
export function createPauses(nowMs = () => performance.now()) {
  const ends = new Map<string, number>();
  return {
    /** Milliseconds until the pause of a client ends; 0 means that it has none. */
    leftMs: (client: string) => Math.max(0, (ends.get(client) ?? 0) - nowMs()),
    begin(client: string, ms: number): void {
      if (ends.size >= MAX_PAUSED) ends.delete(ends.keys().next().value as string);
      ends.set(client, nowMs() + ms);
    },
    end(client: string): void {
      ends.delete(client);
    },
  };
}
