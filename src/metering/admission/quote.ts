import { type Answer, failureAnswer, type ProblemAnswer, unavailable } from '../../http/answer.ts';
import type { CallKind } from '../../http/call-kind.ts';
import type { Input } from '../../http/input.ts';
import type { Charge } from '../credits/call.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { RateDecision } from '../rate-limit/bucket.ts';

/** A call that has taken its token, as its handler gets it beside its input. */
export interface CallContext {
  /** When the call arrived, by `performance.now()`. */
  arrivedMs: number;
  caller: Caller;
  /** The buckets after this request took its token. */
  rate: RateDecision;
  /**
   * Claims a request with this identity, which is charged once (face.ts), before its handler reads anything.
   * @returns the credits that an earlier sending was charged and has kept; `null` means that none was, or that it costs nothing
   * @throws when another sending is under way for too long, or Postgres is away; then the request is a free 503
   */
  claim(identity: string): Promise<number | null>;
  /** What `claim` returned. */
  paidBefore?: number | null;
}

/** The credits that a request was charged. */
export interface Payment extends Omit<Charge, 'refund'> {
  /** Why the request got fewer credits than it needs; `null` means that it got all. */
  refusal: ProblemAnswer | null;
  /** Credits that the key can spend after a charge; `null` means that the quote did not ask, or that Postgres could not say. */
  left: number | null;
  /** Credits that this sending was charged, less those refunded so far: 0 for a repetition and for a test key. */
  cost: number;
  /** Notes that so many credits were not used, because what they paid for is answered 503. */
  refund(credits: number): void;
  /** Refunds what was noted, before the answer is sent. */
  settle(): Promise<void>;
}

export const NOTHING_PAID: Payment = {
  spent: 0,
  reason: null,
  left: null,
  isRepeated: false,
  refusal: null,
  cost: 0,
  refund() {},
  async settle() {},
};

/** The cost of a request, and its answer once the cost is paid. */
export interface Quote {
  /** The kind of its calls; `null` means that it costs nothing. */
  kind: CallKind | null;
  credits: number;
  /** Whether each of them costs a credit; absent means all. */
  charged?: boolean[];
  /** It is charged also if its client has left, because its reads were the work. */
  isDue?: boolean;
  /** The NIFs or queries of a list, in their order. A test key calls up problems by them. */
  asked?: string[];
  /** Whether {@link Payment.left} is asked for. */
  wantsLeft?: boolean;
  /** Whether the answer waits in the queue for the directory's search. */
  isSearch?: boolean;
  /** Writes the answer, unless no credit was paid. A 503 refunds all credits. */
  answer(payment: Payment): Answer | Promise<Answer>;
  /** Called once the request has its answer, also if that is a refusal. */
  end?(payment: Payment): void;
}

/** The last stage of the pipeline: what one endpoint does for a call that has its token. */
export interface Handler<Of = Input> {
  /**
   * Starts the reads that the answer needs: a lookup reads its record while its credit is charged. It must cost nobody anything,
   * because without a credit its result is dropped. Input that is not valid has its quote, too, because it is charged
   * (specification, Endpoints).
   *
   * @param input a body has passed the route's schema; each parameter of an address is a text, or absent
   */
  quote(input: Of, context: CallContext): Quote | Promise<Quote>;
}

/** The quote of a request that costs one credit. */
export const single = (kind: CallKind, answer: Quote['answer']): Quote => ({ kind, credits: 1, answer });

/** The quote of a request that costs nothing. */
export const free = (answer: Quote['answer']): Quote => ({ kind: null, credits: 0, answer });

/** A handler of free requests. @param unread the detail of the 503 if the answer fails */
export const freeHandler = (
  unread: string,
  answer: (context: CallContext, input: Input) => Promise<Answer>,
): Handler => ({
  quote: (input, context) =>
    free(() => answer(context, input).catch((cause) => failureAnswer(cause, unavailable(unread, cause)))),
});
