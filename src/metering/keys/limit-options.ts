/** The options of a key's limits: `--credits`, `--per`, `--only` and `--requests-per-minute`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { RIGHTS, type Right } from '../../http/right.ts';
import { wholeNumber } from '../../platform/terminal/values.ts';
import { MAX_REQUESTS_PER_MINUTE } from '../rate-limit/bucket.ts';
import {
  BUDGET_PERIODS,
  type Budget,
  type BudgetPeriod,
  inOrder,
  MAX_BUDGET,
  type UsedBudget,
} from './limits.ts';

export interface LimitOptions {
  credits?: number | 'none';
  per?: BudgetPeriod;
  only?: Right[] | 'all';
  requestsPerMinute?: number | 'none';
}

export const perOption = () =>
  new Option('--per <window>', 'of UTC, by Postgres’s clock; ever has no end').choices(BUDGET_PERIODS);

/** The budget of a command's options; `undefined` means that none was given. */
export function budgetOf(command: Command, { credits, per }: LimitOptions): Budget | null | undefined {
  const isBudget = typeof credits === 'number';
  if (isBudget !== (per !== undefined)) command.error('error: give --credits N and --per day, month or ever');
  if (isBudget) return { credits, per: per! };
  return credits === 'none' ? null : undefined;
}

export const budgetCredits = wholeNumber({ min: 0, max: MAX_BUDGET });

export const share = wholeNumber({ min: 1, max: MAX_REQUESTS_PER_MINUTE });

/** Reads an option's rights, as `lookup,debts`. */
export function rights(text: string): Right[] {
  const named = text.split(',').map((right) => right.trim());
  if (named.every((right) => RIGHTS.includes(right as Right))) return inOrder(named as Right[]);
  throw new InvalidArgumentError(`It must be some of ${RIGHTS.join(', ')}, with commas between them.`);
}

export const describeBudget = (budget: UsedBudget | null): string => {
  if (budget === null) return 'no budget';
  const { credits, per, used, resets } = budget;
  return `${used} of ${credits} credits spent ${per === 'ever' ? 'for good' : `until ${resets}`}`;
};

export const describeShare = (perMinute: number | null): string =>
  perMinute === null ? 'the account’s' : `at most ${perMinute} requests a minute`;

export const describeRights = (only: Right[] | null): string => only?.join(', ') ?? 'all';
