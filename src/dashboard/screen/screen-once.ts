/**
 * A list is charged once in ten minutes: a reload of its result, and the same list again, are free. So a result that a browser has
 * lost is shown again, though nothing of the list is stored.
 */
import { createHmac } from 'node:crypto';
import { REPEAT_WINDOW_MS } from '../../metering/credits/call.ts';
import { SECOND } from '../../platform/units.ts';
import { countEach, forgetAttempts, forgetSingle, sendingsOf } from '../auth/limits.ts';
import type { MemberContext } from '../context.ts';
import { keyFor, TOKEN_FIELD } from '../request/csrf.ts';
import { isPaid, type OwnCall } from '../try/own-call.ts';

/** The time of a request with its `Idempotency-Key`, less the longest time of a page: a sending in this time is never charged again. */
const FREE_MS = REPEAT_WINDOW_MS - 15 * SECOND;

/** How a list is sent. */
export interface Sending {
  /** The identity of its call, which is charged once. */
  identity: string;
  /**
   * To be called with its answer.
   * @returns the end of the time in which the list costs nothing again; `null` means that it is charged again
   */
  end(call: OwnCall): Promise<Date | null>;
}

/**
 * Begins the sending of a list whose price was seen.
 *
 * @returns `null` for a form that is sent again after the free time: the list must not be charged again without a question
 */
export async function beginSending(context: MemberContext, list: string[]): Promise<Sending | null> {
  const { tools, account, sent } = context;
  // Made with a secret, so that no request of a customer has it.
  const identity = createHmac('sha256', keyFor(tools.secret, 'screened lists'))
    .update(`${account.id}\n${JSON.stringify(list)}`)
    .digest('hex');
  const limit = { key: `list ${identity}`, max: 1, windowMs: FREE_MS };
  const [sentBefore, retryAfterS = null] = await countEach(tools.sql, sendingsOf(sent(TOKEN_FIELD)), limit);
  const forget = () => forgetAttempts(tools.sql, limit.key);
  const isRepeated = retryAfterS !== null;
  if (sentBefore !== null && !isRepeated) {
    await forget();
    return null;
  }
  const startedMs = Date.now();
  const leftMs = retryAfterS === null ? FREE_MS : retryAfterS * SECOND;
  return {
    identity,
    async end({ answer, cost }) {
      // A repetition that is refused leaves the list paid.
      const isFree = isPaid(cost) || (isRepeated && !answer.ok);
      if (!isFree) {
        await forget();
        return null;
      }
      // The charge that a first sending has joined is of another one at the same moment, or older than the free time.
      const hasJoined = !isRepeated && cost.isRepeated;
      // A paid answer is shown, also if Postgres is away by now.
      const isOver = hasJoined && (await forgetSingle(tools.sql, limit.key).catch(() => true));
      return isOver ? null : new Date(startedMs + leftMs);
    },
  };
}
