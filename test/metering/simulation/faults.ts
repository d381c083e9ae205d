/**
 * Faults that are planted in the source, to show that the simulation finds them: `bun test/metering/simulation/run.ts --fault NAME`. The text
 * of a patch is in the source once, so whoever changes it changes the fault.
 */
import type { Patch } from './seam.ts';

export interface Fault {
  name: string;
  patches: Patch[];
}

const fault = (name: string, file: string, from: string, to: string): Fault => ({
  name,
  patches: [{ file, from, to }],
});
const CHARGE = 'credits/charge.ts';
const PIPELINE = 'admission/pipeline.ts';
const BATCH = 'credits/charge-batch.ts';
/** The function in the database. */
export const IN_TURN = 'charge_in_turn';
const REFUND = 'credits/refund.ts';
const CLAIM = 'credits/claim.ts';

export const FAULTS: Fault[] = [
  // A void.
  fault('silence is taken for a rollback', 'credits/void.ts', "=== 'ERROR'", "!== 'FATAL'"),
  fault(
    'a void is never sent',
    CHARGE,
    "void settle('voided', id, ",
    "mode = 'open';\n    if (id === '') void settle('voided', id, ",
  ),
  fault(
    'a void is tried once',
    CHARGE,
    "if (event === 'voided') onEvent?.('failed');",
    "if (event === 'voided') return void (mode = 'open');",
  ),
  fault(
    'all batches have one id',
    CHARGE,
    'const attempt = claim?.sending ?? randomUUID();',
    "const attempt = claim?.sending ?? '00000000-0000-4000-8000-000000000000';",
  ),
  fault(
    'the ledger stays in doubt',
    CHARGE,
    "if (event === 'voided' && mode === 'in doubt') mode = 'open';",
    '',
  ),
  // A refund.
  fault(
    'a refund is tried once',
    CHARGE,
    '        await Bun.sleep(RETRY_AFTER_MS);',
    "        if (event === 'refunded') return;\n        await Bun.sleep(RETRY_AFTER_MS);",
  ),
  fault(
    'each try of a refund has a new id',
    CHARGE,
    'storeRefund(refund)',
    'storeRefund({ ...refund, id: randomUUID() })',
  ),
  fault('a 503 refunds nothing', PIPELINE, 'if (isUnavailable) payment.refund(payment.spent);', ''),
  fault(
    'an answer does not wait for its refund',
    PIPELINE,
    'await payment.settle();\n      return end(caller',
    'void payment.settle();\n      return end(caller',
  ),
  fault(
    'a refund is made twice',
    PIPELINE,
    'settle: () => paid.refund(unused),',
    'settle: () => Promise.all([paid.refund(unused), paid.refund(unused)]).then(() => {}),',
  ),
  fault(
    'a refund takes one credit too few',
    CHARGE,
    'const part = { ...call, credits };',
    'const part = { ...call, credits: Math.max(credits - 1, 1) };',
  ),
  fault('a stop forgets the refunds in memory', CHARGE, '    if (!isNothing) unsettled.set(id, [call]);', ''),
  fault(
    'a stop does not wait',
    CHARGE,
    'while (unsettled.size > 0 && performance.now() < endMs) await Bun.sleep(10);',
    '',
  ),
  fault('what is owed is never paid out', 'credits/rollup.ts', 'await refundOwed(sql, countCharges);', ''),
  fault('a return is written before its charge', 'credits/refund.ts', '    await countCharges();', ''),
  // A request with an Idempotency-Key.
  fault(
    'each sending of a request is charged',
    CLAIM,
    'Bun.randomUUIDv5(identity, NAMESPACE)',
    'randomUUID()',
  ),
  fault(
    'a sending refunds nothing',
    CHARGE,
    'storeEnd({ claim, charged: paid!, refund })',
    'storeEnd({ claim, charged: paid!, refund: { ...refund, credits: 0 } })',
  ),
  fault(
    'the charge of a dead sending is not found',
    CHARGE,
    'const attempt = claim?.sending ?? randomUUID();',
    'const attempt = randomUUID();',
  ),
  fault('a repetition pays more than was charged', CHARGE, 'Math.min(kept, call.credits)', 'call.credits'),
  fault(
    'a repetition shows the first cost',
    PIPELINE,
    'cost: paid.isRepeated ? 0 : paid.spent',
    'cost: paid.spent',
  ),
  // The answer of a charge.
  fault(
    'every call of a batch gets the share of the first',
    'credits/charge-calls.ts',
    'spent: spent?.[index] ?? credits',
    'spent: spent?.[0] ?? credits',
  ),
  fault(
    'a short charge is taken for a whole one',
    'credits/charge-batch.ts',
    'if (codeOf(error) !== SHORT) throw error;',
    'if (codeOf(error) !== SHORT) throw error;\n    return [{ purchased: null, left: null }];',
  ),
  fault(
    '`left` forgets the budget',
    'credits/charge-calls.ts',
    'left![keyId] ?? Number.POSITIVE_INFINITY',
    'Number.POSITIVE_INFINITY',
  ),
  fault('a locked account stays locked', 'accounts/locked.ts', 'if (!isLocked) locked.delete(id);', ''),
  fault(
    'a wait for a lock fails the batch',
    'accounts/locked.ts',
    'if (!isLockTimeout(error)) throw error;',
    'throw error;',
  ),
  // Budgets, keys, activity.
  fault('budgets are not asked', PIPELINE, 'hasBudget: budget !== null,', 'hasBudget: false,'),
  fault('first budgets are never settled', 'credits/rollup.ts', 'await settleBudgets(sql);', ''),
  fault(
    'an expired key is accepted',
    'keys/authenticate.ts',
    '|| row.isRefused) {',
    '|| (row.isRefused && hash === "")) {',
  ),
  fault(
    'a change of an account is ignored, and its callers never expire',
    'keys/authenticate.ts',
    'now < entry.untilMs && isCurrent(entry)',
    'now >= 0',
  ),
];

/** Faults that no history can find, and why. */
export const UNSEEN: (Fault & { why: string })[] = [
  {
    ...fault(
      'a keyed charge is voided though another sending uses it',
      CHARGE,
      'doubt(attempt, () => voidSending(sql, claim));',
      'doubt(attempt, () => voidAttempt(sql, attempt));',
    ),
    why: 'no history keeps the store away from one process for 30 s beside another one: claim.test.ts does',
  },
  {
    ...fault('charging goes on in doubt', CHARGE, "if (mode === 'open') mode = 'in doubt';", ''),
    why: 'the rule protects a store that does not answer from a crowd, as outages.test.ts says; each charge is voided by its own id',
  },
  {
    ...fault(
      'a batch charges clients that have left',
      CHARGE,
      'calls.filter(({ signal }) => !signal?.aborted)',
      'calls',
    ),
    why: 'the answer that nobody reads is charged as it says',
  },
];

/** Faults in SQL, and which of compare.ts and race.ts finds each. */
export const SQL_FAULTS: (Fault & { by: 'compare' | 'race' })[] = [
  {
    by: 'compare',
    ...fault(
      'a charge at once asks no window',
      BATCH,
      'now() >= c.period_start AND now() < window_end(c) AND ',
      '',
    ),
  },
  {
    by: 'compare',
    ...fault(
      'a charge at once asks not what is left',
      BATCH,
      'AND wanted.credits <= $' + "{leftOf('c')}",
      '',
    ),
  },
  {
    by: 'compare',
    ...fault(
      'a charge at once takes no purchased credits',
      BATCH,
      'const TAKEN = `greatest(',
      'const TAKEN = `0 * greatest(',
    ),
  },
  {
    by: 'race',
    ...fault(
      'a charge in turn locks counters backwards',
      IN_TURN,
      'ORDER BY id FOR NO KEY UPDATE',
      'ORDER BY id DESC FOR NO KEY UPDATE',
    ),
  },
  {
    by: 'race',
    ...fault(
      'a charge in turn reads counters without their lock',
      IN_TURN,
      'ORDER BY id FOR NO KEY UPDATE',
      'ORDER BY id',
    ),
  },
  {
    by: 'race',
    ...fault('a refund does not lock the balance', REFUND, 'ORDER BY id FOR NO KEY UPDATE', 'ORDER BY id'),
  },
  {
    by: 'compare',
    ...fault(
      'an account may not spend, and does',
      IN_TURN,
      'CASE WHEN spend_purchased THEN credits ELSE 0 END',
      'credits',
    ),
  },
  {
    by: 'compare',
    ...fault('a charge in turn opens no window', IN_TURN, 'AND instant >= window_end(c)', 'AND false'),
  },
  {
    by: 'compare',
    ...fault(
      'a refund is of every period',
      REFUND,
      'WHEN per IS NULL THEN period_opened_at <= spent_at',
      'WHEN per IS NULL THEN true',
    ),
  },
  {
    by: 'compare',
    ...fault(
      'a refund forgets which credits were purchased',
      REFUND,
      'least(owed.calls, used_purchased, greatest(owed.purchased, used - included)) AS back',
      'least(owed.calls, used_purchased, used - included) AS back',
    ),
  },
  {
    by: 'compare',
    ...fault(
      'a refund leaves the budget',
      REFUND,
      'AND (is_budgeted OR spent_at < period_opened_at)',
      'AND spent_at < period_opened_at',
    ),
  },
  {
    by: 'compare',
    ...fault('a void does not mark a charge', 'credits/void.ts', 'DO UPDATE SET owed = true', 'DO NOTHING'),
  },
  {
    by: 'compare',
    ...fault(
      'a sending keeps what it refunds',
      CLAIM,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: The text of the source.
      'kept = ${charged.spent - credits}',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: The text of the source.
      'kept = ${charged.spent}',
    ),
  },
  {
    by: 'compare',
    ...fault(
      'the calls of a batch share an entry of the activity',
      'credits/activity.ts',
      "calls.map(({ activity = '' }) => activity).join(END)",
      'calls.map(() => calls[0]!.activity).join(END)',
    ),
  },
  {
    by: 'race',
    ...fault(
      'charges at once lock counters backwards',
      BATCH,
      'keys()].sort();',
      'keys()].sort().reverse();',
    ),
  },
  {
    by: 'race',
    ...fault(
      'a refund locks balances backwards',
      REFUND,
      'ORDER BY id FOR NO KEY UPDATE',
      'ORDER BY id DESC FOR NO KEY UPDATE',
    ),
  },
  {
    by: 'race',
    ...fault(
      'a grant does not lock its account',
      'accounts/grant.ts',
      'await lockAccount(sql, accountId);',
      '',
    ),
  },
  {
    by: 'compare',
    ...fault(
      'a refund of an uncounted charge is taken from its day',
      REFUND,
      '-calls AS calls, 0 AS credits FROM entry WHERE counted',
      '-calls AS calls, 0 AS credits FROM entry',
    ),
  },
  {
    by: 'compare',
    ...fault(
      'a change of a budget forgets what was spent',
      'keys/limits.ts',
      'used = coalesce((',
      'used = 0 * coalesce((',
    ),
  },
];

/** @returns `undefined` for no name @throws Error for an unknown one */
export function faultNamed(faults: Fault[], name: string | undefined): Fault | undefined {
  const found = faults.find((fault) => fault.name === name);
  if (name !== undefined && found === undefined) throw new Error(`there is no planted fault ${name}`);
  return found;
}
