import type { Plan } from '../../../src/metering/accounts/plan.ts';

export interface PlanTerms {
  plan: Plan;
  /** Free: when the plan began; null: before the month did. */
  since: Date | null;
  anchor: Date | null;
  until: Date | null;
}

export interface ExpectedPeriod {
  plan: Plan;
  start: Date;
  end: Date;
}

/**
 * The period by the words of the specification (Credits 4) and docs/members.md, found by counting months up from the anchor:
 * slow, and made of nothing that src/ uses.
 */
export function expectedPeriod({ plan, since, anchor, until }: PlanTerms, at: Date): ExpectedPeriod {
  if (plan === 'plus' && anchor !== null && (until === null || at < until)) {
    let months = 0;
    while (addMonths(anchor, months + 1) <= at) months += 1;
    const end = addMonths(anchor, months + 1);
    return {
      plan: 'plus',
      start: addMonths(anchor, months),
      end: until !== null && until < end ? until : end,
    };
  }
  const month = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1));
  const began = plan === 'plus' ? until : since;
  return { plan: 'free', start: began !== null && began > month ? began : month, end: addMonths(month, 1) };
}

/** The same day and time so many months later; the month's last day where it has no such day. */
function addMonths(date: Date, months: number): Date {
  const month = date.getUTCMonth() + months;
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const timeMs = date.getTime() % 86_400_000;
  return new Date(
    Date.UTC(date.getUTCFullYear(), month, Math.min(date.getUTCDate(), lastDay)) +
      ((timeMs + 86_400_000) % 86_400_000),
  );
}
