import { RefusedError } from '../../platform/errors.ts';
import { count } from '../../platform/terminal/progress.ts';
import { DAY } from '../../platform/units.ts';
import { SMALLEST_REPLACEMENT } from '../ingest/staging.ts';
import type { DebtDifference } from './difference.ts';
import type { DebtKind } from './kind.ts';

/**
 * Refuses a dataset whose date is suspicious, or which would end the brackets of over a tenth of the companies, as a file does
 * that was cut off. Readers of the changes would get each of these ends.
 *
 * Each `--force` overrides one refusal, in this order. So an older file that is forced is still refused for its ends.
 * @throws RefusedError
 */
export function refuseSuspicious(
  difference: DebtDifference,
  { kind, date, force = 0 }: { kind: DebtKind; date: string; force?: number | undefined },
): void {
  const suspicions = [...suspiciousDate(difference, kind, date), ...suspiciousEnds(difference, kind)];
  const suspicion = suspicions[force];
  if (suspicion === undefined) return;
  const more = force === 0 ? '--force' : 'one more --force';
  throw new RefusedError(`${suspicion.reason}: nothing has changed; ${more} ${suspicion.outcome}`);
}

interface Suspicion {
  reason: string;
  /** The effect of `--force`. */
  outcome: string;
}

function suspiciousDate({ presentDate }: DebtDifference, kind: DebtKind, date: string): Suspicion[] {
  // A mistyped year would be shown to customers, and refuse every right file after it.
  if (date > new Date(Date.now() + DAY).toISOString().slice(0, 10)) {
    return [{ reason: `${date} is after tomorrow`, outcome: 'imports the dataset of that date' }];
  }
  if (presentDate === null || date >= presentDate) return [];
  return [
    {
      reason: `the ${kind} dataset is of ${presentDate}, later than ${date}`,
      outcome: 'imports the older one',
    },
  ];
}

function suspiciousEnds(
  { present, kept, appeared, changed, ended }: DebtDifference,
  kind: DebtKind,
): Suspicion[] {
  if (kept >= present * SMALLEST_REPLACEMENT) return [];
  return [
    {
      reason: `the file has ${count(kept)} of the ${count(present)} companies of the ${kind} dataset, under 90%`,
      outcome: `replaces the dataset nevertheless (appeared ${count(appeared)}, changed ${count(changed)}, ended ${count(ended)})`,
    },
  ];
}
