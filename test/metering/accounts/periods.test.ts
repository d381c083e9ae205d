import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Plan } from '../../../src/metering/accounts/plan.ts';
import { createTestDatabase } from '../../support/database.ts';

const DAY_MS = 86_400_000;

interface PlanTerms {
  plan: Plan;
  /** Free: when the plan began; null: before the month did. */
  since: Date | null;
  anchor: Date | null;
  until: Date | null;
}

interface ExpectedPeriod {
  plan: Plan;
  start: Date;
  end: Date;
}

/**
 * The period by the words of the specification (Credits 4) and docs/members.md, found by counting months up from the anchor:
 * slow, and made of nothing that src/ uses.
 */
function expectedPeriod({ plan, since, anchor, until }: PlanTerms, at: Date): ExpectedPeriod {
  if (plan === 'plus' && anchor !== null && (until === null || at < until)) {
    let months = 0;
    while (addMonths(anchor, months + 1) <= at) months += 1;
    const end = addMonths(anchor, months + 1);
    const start = addMonths(anchor, months);
    return { plan: 'plus', start, end: until !== null && until < end ? until : end };
  }
  const month = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1));
  const began = plan === 'plus' ? until : since;
  return { plan: 'free', start: began !== null && began > month ? began : month, end: addMonths(month, 1) };
}

/** The same day and time so many months later; the month's last day where it has no such day. */
function addMonths(date: Date, months: number): Date {
  const month = date.getUTCMonth() + months;
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const timeMs = ((date.getTime() % DAY_MS) + DAY_MS) % DAY_MS;
  const day = Math.min(date.getUTCDate(), lastDay);
  return new Date(Date.UTC(date.getUTCFullYear(), month, day) + timeMs);
}

const database = await createTestDatabase('periods');
afterAll(() => database.drop());

async function periodAt({ plan, since, anchor, until }: PlanTerms, at: Date): Promise<ExpectedPeriod> {
  const [row] = await database.sql<ExpectedPeriod[]>`
    SELECT (p).plan, (p).starts_at AS start, (p).ends_at AS end
    FROM (SELECT account_period(${plan}, ${since}, ${anchor}, ${until}, ${at}) AS p) AS computed`;
  return row!;
}

const date = (text: string | null) => (text === null ? null : new Date(text));
const plus = (anchor: string, until: string | null = null): PlanTerms => ({
  ...{ plan: 'plus', since: null, anchor: new Date(anchor), until: date(until) },
});
const free = (since: string): PlanTerms => ({
  ...{ plan: 'free', since: date(since), anchor: null, until: null },
});

/** Terms, and the instants at which their periods begin, as a reader of docs/members.md expects them. */
test.each<[string, PlanTerms, string[]]>([
  [
    'an anchor on the 31st falls on the last day of shorter months, and returns to the 31st',
    plus('2026-01-31T00:00:00Z'),
    ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31'],
  ],
  [
    'an anchor on the 30th falls on the 29th of a leap February, at its time of day',
    plus('2023-12-30T12:00:00Z'),
    ['2023-12-30 12:00', '2024-01-30 12:00', '2024-02-29 12:00', '2024-03-30 12:00'],
  ],
  [
    'the period in which a subscription lapses is cut there, and then months of Free follow',
    plus('2026-01-10T00:00:00Z', '2026-02-20T06:00:00Z'),
    ['2026-01-10', '2026-02-10', '2026-02-20 06:00', '2026-03-01', '2026-04-01'],
  ],
  [
    'Free begins where the account became Free, and then with each month of UTC, over the turn of the year',
    free('2026-11-15T10:00:00Z'),
    ['2026-11-15 10:00', '2026-12-01', '2027-01-01', '2027-02-01'],
  ],
])('%s', async (_, terms, starts) => {
  const instants = starts.map((start) => new Date(`${start.includes(':') ? start : `${start} 00:00`}Z`));
  for (const [index, end] of instants.slice(1).entries()) {
    const start = instants[index]!;
    for (const at of [start, new Date(end.getTime() - 1)]) {
      const period = await periodAt(terms, at);
      expect([period.start, period.end]).toEqual([start, end]);
    }
  }
});

test('for any plan, anchor, lapse and instant the period is the one that counting months from the anchor finds', async () => {
  const instants = fc.date({
    min: new Date('2019-12-01T00:00:00Z'),
    max: new Date('2032-03-01T00:00:00Z'),
    noInvalidDate: true,
  });
  /** Days at which months differ, times at which days do. */
  const edges = fc
    .record({
      year: fc.integer({ min: 2020, max: 2031 }),
      month: fc.integer({ min: 0, max: 11 }),
      day: fc.constantFrom(1, 27, 28, 29, 30, 31),
      offsetMs: fc.constantFrom(-1, 0, 1, 12 * 3_600_000),
    })
    .map(({ year, month, day, offsetMs }) => new Date(Date.UTC(year, month, day) + offsetMs));
  const anyInstant = fc.oneof(instants, edges);
  const plusTerms = fc
    .tuple(anyInstant, fc.option(anyInstant), anyInstant)
    .filter(([anchor, until, at]) => at >= anchor && (until === null || until > anchor))
    .map(([anchor, until, at]) => ({ terms: { plan: 'plus', since: null, anchor, until } as PlanTerms, at }));
  const freeTerms = fc
    .tuple(fc.option(anyInstant), anyInstant)
    .filter(([since, at]) => since === null || at >= since)
    .map(([since, at]) => ({ terms: { plan: 'free', since, anchor: null, until: null } as PlanTerms, at }));
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 3, arbitrary: plusTerms }, freeTerms), async ({ terms, at }) => {
      expect(await periodAt(terms, at)).toEqual(expectedPeriod(terms, at));
    }),
    { numRuns: 1500 },
  );
});
