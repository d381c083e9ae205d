/** What a credit is spent on. */
export type CallKind = 'search' | 'lookup';

/** Calls of one account by one key and of one kind. */
export interface Ask {
  accountId: string;
  /** '' for calls made in the dashboard. */
  keyId: string;
  kind: CallKind;
  calls: number;
}

/** What the ledger said of one call. */
export type Admission =
  | {
      admitted: true;
      /**
       * The index of the directory that was current when the credit was spent, from the same statement: what a search
       * may answer from its cache (docs/performance.md). null: there is none.
       */
      directoryIndex: string | null;
    }
  | {
      admitted: false;
      /** The included allowance of the period, credits. */
      limit: number;
      /** When the included allowance is there again. */
      resetAt: Date;
      /** Whole seconds until then, by Postgres's clock, at least 1. */
      retryAfterS: number;
    };

/** One call that wants a credit. */
export interface Call {
  accountId: string;
  /** '' for a call made in the dashboard. */
  keyId: string;
  kind: CallKind;
  /**
   * Aborted when the caller has gone: what has not been asked of Postgres by then costs nothing. Absent: nobody can go.
   * Bun itself closes a connection on which another request comes before the answer, and calls that an abort.
   */
  signal?: AbortSignal;
}

/** A call on its way through the ledger. */
export interface PendingCall extends Call {
  /** When it came, of `performance.now()`. */
  sinceMs: number;
  /** Whoever asked has been answered 503: if the call is admitted all the same, it is given back. */
  abandoned: boolean;
  /** null: no statement has decided yet. */
  admission: Admission | null;
}

/** Calls of one account, by one key and of one kind: what one ask of a statement stands for. */
export interface Group {
  ask: Ask;
  calls: PendingCall[];
}

/** The calls of each account, by key and kind. */
export function groupCalls(calls: PendingCall[]): Map<string, Group[]> {
  const byAccount = new Map<string, Group[]>();
  for (const call of calls) {
    const { accountId, keyId, kind } = call;
    let groups = byAccount.get(accountId);
    if (groups === undefined) {
      groups = [];
      byAccount.set(accountId, groups);
    }
    const group = groups.find(({ ask }) => ask.keyId === keyId && ask.kind === kind);
    if (group === undefined) groups.push({ ask: { accountId, keyId, kind, calls: 1 }, calls: [call] });
    else {
      group.ask.calls += 1;
      group.calls.push(call);
    }
  }
  return byAccount;
}

/**
 * Deals an account's admissions out to its calls, in the order in which the statement counted them.
 *
 * @param admitted how many of them there are; the calls after them get the refusal
 * @returns what was admitted although whoever asked has left: to be given back
 */
export function deal(groups: Group[], admitted: number, admission: Admission, refusal = admission): Ask[] {
  let left = admitted;
  const late: Ask[] = [];
  for (const { ask, calls } of groups) {
    for (const call of calls) {
      const isAdmitted = left > 0;
      left -= 1;
      call.admission = isAdmitted ? admission : refusal;
      if (isAdmitted && call.abandoned) late.push({ ...ask, calls: 1 });
    }
  }
  return late;
}
