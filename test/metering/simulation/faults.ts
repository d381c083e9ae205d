/**
 * Faults that are planted in the source, to show that the simulation finds them: `bun test/metering/simulation/run.ts --fault NAME`. The text
 * of a patch is in the source once, so whoever changes it changes the fault.
 */
import type { Patch } from './seam.ts';

/** The function in the database. */
export const IN_TURN = 'charge_in_turn';

/** By file in src/metering, or function in the database, the name of each fault, the text that it replaces, and what it puts there. */
type Faults = Record<string, Record<string, [from: string, to: string]>>;

export const FAULTS: Faults = {
  'credits/charge.ts': {
    'silence is taken for a rollback': [
      'if (isRolledBack(error)) unsettled',
      "if ((error as { severity?: string }).severity !== 'FATAL') unsettled",
    ],
    'every call of a batch gets the share of the first': ['spent?.[index] ??', 'spent?.[0] ??'],
    'a void is never sent': [
      "void settle('voided', attempt, ",
      "voids -= 1;\n        if (attempt === '') void settle('voided', attempt, ",
    ],
    'a void is tried once': [
      "if (event === 'voided') onEvent?.('failed');",
      "if (event === 'voided') return void (voids -= 1);",
    ],
    'all batches have one id': [
      'const attempt = claim?.sending ?? randomUUID();',
      "const attempt = claim?.sending ?? '00000000-0000-4000-8000-000000000000';",
    ],
    'the ledger stays in doubt': ["if (event === 'voided') voids -= 1;", ''],
    'one void ends the doubt of all': ['voids -= 1;', 'voids = 0;'],
    'a refund is tried once': [
      '        await Bun.sleep(RETRY_AFTER_MS);',
      "        if (event === 'refunded') return;\n        await Bun.sleep(RETRY_AFTER_MS);",
    ],
    'each try of a refund has a new id': [
      'storeRefund(refund)',
      'storeRefund({ ...refund, id: randomUUID() })',
    ],
    'a refund takes one credit too few': [
      'const part = { ...call, credits };',
      'const part = { ...call, credits: Math.max(credits - 1, 1) };',
    ],
    'a stop forgets the refunds in memory': ['    unsettled.set(id, [part]);', ''],
    'a stop does not wait': [
      'while (unsettled.size > 0 && performance.now() < endMs) await Bun.sleep(10);',
      '',
    ],
    'a sending refunds nothing': [
      'storeEnd({ claim, charged: paid, refund })',
      'storeEnd({ claim, charged: paid, refund: { ...refund, credits: 0 } })',
    ],
    'the charge of a dead sending is not found': [
      'const attempt = claim?.sending ?? randomUUID();',
      'const attempt = randomUUID();',
    ],
    'a repetition pays more than was charged': ['Math.min(kept, call.credits)', 'call.credits'],
  },
  'admission/pipeline.ts': {
    'a 503 refunds nothing': ['if (isUnavailable) payment.refund(payment.spent);', ''],
    'an answer does not wait for its refund': [
      'await payment.settle();\n      return end(caller',
      'void payment.settle();\n      return end(caller',
    ],
    'a refund is made twice': [
      'settle: () => paid.refund(unused),',
      'settle: () => Promise.all([paid.refund(unused), paid.refund(unused)]).then(() => {}),',
    ],
    'a repetition shows the first cost': ['cost: paid.isRepeated ? 0 : paid.spent', 'cost: paid.spent'],
    'budgets are not asked': ['hasBudget: budget !== null,', 'hasBudget: false,'],
  },
  'credits/rollup.ts': {
    'what is owed is never paid out': ['await refundOwed(sql, countCharges);', ''],
    'first budgets are never settled': ['await settleBudgets(sql);', ''],
  },
  'credits/refund.ts': {
    'a return is written before its charge': ['    await countCharges();', ''],
  },
  'credits/claim.ts': {
    'each sending of a request is charged': ['Bun.randomUUIDv5(identity, NAMESPACE)', 'randomUUID()'],
  },
  'credits/charge-batch.ts': {
    'a short charge is taken for a whole one': [
      'if (codeOf(error) !== SHORT) throw error;',
      'if (codeOf(error) !== SHORT) throw error;\n    return [{ purchased: null }];',
    ],
  },
  'accounts/locked.ts': {
    'a locked account stays locked': ['if (!isLocked) locked.delete(id);', ''],
    'a wait for a lock fails the batch': ['if (!isLockTimeout(error)) throw error;', 'throw error;'],
  },
  'keys/authenticate.ts': {
    'an expired key is accepted': ['|| row.isRefused) {', '|| (row.isRefused && hash === "")) {'],
    'a change of an account is ignored, and its callers never expire': [
      'now < entry.untilMs && isCurrent(entry)',
      'now >= 0',
    ],
  },
};

/** Faults that no history can find, because: */
export const UNSEEN: Faults = {
  'credits/charge.ts': {
    // no history keeps the store away from one process for 30 s beside another one: claim.test.ts does
    'a keyed charge is voided though another sending uses it': [
      'voidAttempt(sql, attempt) : voidSending(sql, claim)',
      'voidAttempt(sql, attempt) : voidAttempt(sql, attempt)',
    ],
    // the rule protects a store that does not answer from a crowd, as claim.test.ts says; each charge is voided by its own id
    'charging goes on in doubt': ['voids += 1;', ''],
    // the answer that nobody reads is charged as it says
    'a batch charges clients that have left': ['calls.filter(({ signal }) => !signal?.aborted)', 'calls'],
  },
};

/** Faults in SQL that compare.ts finds, and race.ts. */
export const SQL_FAULTS: Record<'compare' | 'race', Faults> = {
  compare: {
    'credits/charge-batch.ts': {
      'a charge at once asks no window': ['now() >= c.period_start AND now() < window_end(c) AND ', ''],
      'a charge at once asks not what is left': ['AND wanted.credits <= ', 'AND 0 * wanted.credits <= '],
      'a charge at once takes no purchased credits': [
        'const TAKEN = `greatest(',
        'const TAKEN = `0 * greatest(',
      ],
    },
    [IN_TURN]: {
      'an account may not spend, and does': ['CASE WHEN spend_purchased THEN credits ELSE 0 END', 'credits'],
      'a charge in turn opens no window': ['AND instant >= window_end(c)', 'AND false'],
    },
    'credits/left.ts': {
      'what is left forgets the budget': ['id IN (account_id, key_id)', 'id = account_id'],
    },
    'credits/refund.ts': {
      'a void does not mark a charge': ['DO UPDATE SET owed = true', 'DO NOTHING'],
      'a refund is of every period': [
        'WHEN per IS NULL THEN period_opened_at <= spent_at',
        'WHEN per IS NULL THEN true',
      ],
      'a refund forgets which credits were purchased': [
        'least(owed.calls, used_purchased, greatest(owed.purchased, used - included)) AS back',
        'least(owed.calls, used_purchased, used - included) AS back',
      ],
      'a refund leaves the budget': [
        'AND (is_budgeted OR spent_at < period_opened_at)',
        'AND spent_at < period_opened_at',
      ],
      'a refund of an uncounted charge is taken from its day': [
        '-calls AS calls, 0 AS credits FROM entry WHERE counted',
        '-calls AS calls, 0 AS credits FROM entry',
      ],
    },
    'credits/claim.ts': {
      'a sending keeps what it refunds': ['charged.spent - credits', 'charged.spent'],
    },
    'credits/activity.ts': {
      'the calls of a batch share an entry of the activity': [
        "calls.map(({ activity = '' }) => activity).join(END)",
        'calls.map(() => calls[0]!.activity).join(END)',
      ],
    },
    'keys/limit-key.ts': {
      'a change of a budget forgets what was spent': ['used = coalesce((', 'used = 0 * coalesce(('],
    },
  },
  race: {
    [IN_TURN]: {
      'a charge in turn locks counters backwards': [
        'ORDER BY id FOR NO KEY UPDATE',
        'ORDER BY id DESC FOR NO KEY UPDATE',
      ],
      'a charge in turn reads counters without their lock': ['ORDER BY id FOR NO KEY UPDATE', 'ORDER BY id'],
    },
    'credits/refund.ts': {
      'a refund does not lock the balance': ['ORDER BY id FOR NO KEY UPDATE', 'ORDER BY id'],
      'a refund locks balances backwards': [
        'ORDER BY id FOR NO KEY UPDATE',
        'ORDER BY id DESC FOR NO KEY UPDATE',
      ],
    },
    'credits/charge-batch.ts': {
      'charges at once lock counters backwards': ['keys()].sort();', 'keys()].sort().reverse();'],
    },
    'accounts/grant.ts': {
      'a grant does not lock its account': ['await lockAccount(sql, accountId);', ''],
    },
  },
};

export const namesOf = (faults: Faults): string[] => Object.values(faults).flatMap(Object.keys);

/** @returns `undefined` for no name @throws Error for an unknown one */
export function faultNamed(name: string | undefined, ...lists: Faults[]): Patch | undefined {
  if (name === undefined) return undefined;
  for (const [file, { [name]: found }] of lists.flatMap(Object.entries<Faults[string]>))
    if (found !== undefined) return { file, from: found[0], to: found[1] };
  throw new Error(`there is no planted fault ${name}`);
}
