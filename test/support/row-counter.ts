import { startProxy } from './proxy.ts';

/** The ends of an answer in Postgres's protocol: done, suspended, failed, empty, ready. */
const ENDS = new Set(['C', 's', 'E', 'I', 'Z']);

/** Starts a TCP proxy before Postgres that counts the rows of each answer, so that a test sees what a process reads at once. */
export async function startRowCounter(target: string) {
  let most = 0;
  /** Of each connection: the bytes of a message that has not come whole, and the rows of the answer so far. */
  const states = new WeakMap<object, { rest: Buffer; rows: number }>();
  const answered = (piece: Buffer, connection: object) => {
    const state = states.get(connection) ?? { rest: Buffer.alloc(0), rows: 0 };
    states.set(connection, state);
    const bytes = Buffer.concat([state.rest, piece]);
    let at = 0;
    while (bytes.length >= at + 5) {
      const end = at + 1 + bytes.readInt32BE(at + 1);
      if (bytes.length < end) break;
      const type = String.fromCharCode(bytes[at]!);
      if (type === 'D') most = Math.max(most, ++state.rows);
      else if (ENDS.has(type)) state.rows = 0;
      at = end;
    }
    state.rest = bytes.subarray(at);
  };
  const { url, close } = await startProxy(target, { answered });
  return {
    url,
    close,
    /** The most rows of one answer since the last call. */
    most(): number {
      const seen = most;
      most = 0;
      return seen;
    },
  };
}
