/** Work that goes on beside a measurement. */
export interface Load {
  /** Whether all of its work was done once. */
  isThrough(): boolean;
  /** @returns the number of answers by status */
  stop(): Promise<string>;
}

/**
 * Repeats pieces of work in lanes until it is stopped.
 * @param work returns the status of its answer @param isOnce whether each piece is done once
 */
export function repeat<Piece>(
  lanes: number,
  pieces: Piece[],
  work: (piece: Piece) => Promise<number>,
  isOnce = false,
): Load {
  const answers: Record<number, number> = {};
  let isStopped = false;
  let next = 0;
  let done = 0;
  const running = Array.from({ length: lanes }, async () => {
    while (!isStopped && !(isOnce && next >= pieces.length)) {
      const status = await work(pieces[next++ % pieces.length]!);
      answers[status] = (answers[status] ?? 0) + 1;
      done += 1;
    }
  });
  return {
    isThrough: () => done >= pieces.length,
    async stop() {
      isStopped = true;
      await Promise.all(running);
      return JSON.stringify(answers);
    },
  };
}
