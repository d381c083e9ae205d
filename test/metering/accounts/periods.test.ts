import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createTestDatabase } from '../../support/database.ts';
import { type ExpectedPeriod, expectedPeriod, type PlanTerms } from './period-oracle.ts';

const database = await createTestDatabase('periods');
afterAll(() => database.drop());

async function periodAt({ plan, since, anchor, until }: PlanTerms, at: Date): Promise<ExpectedPeriod> {
  const [row] = await database.sql<ExpectedPeriod[]>`
    SELECT (p).plan, (p).starts_at AS start, (p).ends_at AS end
    FROM (SELECT account_period(${plan}, ${since}, ${anchor}, ${until}, ${at}) AS p) AS computed`;
  return row!;
}

const date = (text: string | null) => (text === null ? null : new Date(text));

/** The periods that hold each of the instants, as `start/end`. */
async function periods(
  terms: Record<keyof PlanTerms, string | null>,
  ...instants: string[]
): Promise<string[]> {
  const { plan, since, anchor, until } = terms;
  const found: string[] = [];
  for (const at of instants) {
    const parsed = { plan: plan as 'free', since: date(since), anchor: date(anchor), until: date(until) };
    const period = await periodAt(parsed, new Date(at));
    found.push(`${period.plan} ${short(period.start)} ${short(period.end)}`);
  }
  return found;
}

const short = (at: Date) => at.toISOString().replace(/:00\.000Z$/, 'Z');
const plus = (anchor: string, until: string | null = null) => ({ plan: 'plus', since: null, anchor, until });
const free = (since: string | null = null) => ({ plan: 'free', since, anchor: null, until: null });

describe('Plus periods', () => {
  test('an anchor on the 31st falls on the last day of shorter months and returns to the 31st', async () => {
    expect(
      await periods(
        plus('2026-01-31T00:00:00Z'),
        '2026-01-31T00:00:00Z',
        '2026-02-28T00:00:00Z',
        '2026-03-31T00:00:00Z',
        '2026-05-30T23:59:59Z',
      ),
    ).toEqual([
      'plus 2026-01-31T00:00Z 2026-02-28T00:00Z',
      'plus 2026-02-28T00:00Z 2026-03-31T00:00Z',
      'plus 2026-03-31T00:00Z 2026-04-30T00:00Z',
      'plus 2026-04-30T00:00Z 2026-05-31T00:00Z',
    ]);
  });

  test('an anchor on 29 February falls on the 28th of other years and returns to the 29th in the next leap year', async () => {
    expect(
      await periods(
        plus('2024-02-29T12:00:00Z'),
        '2024-02-29T12:00:00Z',
        '2025-02-28T11:59:59Z',
        '2025-02-28T12:00:00Z',
        '2028-02-29T12:00:00Z',
      ),
    ).toEqual([
      'plus 2024-02-29T12:00Z 2024-03-29T12:00Z',
      'plus 2025-01-29T12:00Z 2025-02-28T12:00Z',
      'plus 2025-02-28T12:00Z 2025-03-29T12:00Z',
      'plus 2028-02-29T12:00Z 2028-03-29T12:00Z',
    ]);
  });

  test('a leap February gives an anchor on the 31st its 29th', async () => {
    expect(
      await periods(plus('2023-12-31T00:00:00Z'), '2024-02-29T00:00:00Z', '2024-02-28T23:59:59Z'),
    ).toEqual(['plus 2024-02-29T00:00Z 2024-03-31T00:00Z', 'plus 2024-01-31T00:00Z 2024-02-29T00:00Z']);
  });

  test('an anchor in the middle of a day opens and closes periods at that time of day', async () => {
    expect(
      await periods(plus('2026-03-15T15:30:00Z'), '2026-04-15T15:29:59.999Z', '2026-04-15T15:30:00Z'),
    ).toEqual(['plus 2026-03-15T15:30Z 2026-04-15T15:30Z', 'plus 2026-04-15T15:30Z 2026-05-15T15:30Z']);
  });

  test('a period runs over the turn of the year', async () => {
    expect(await periods(plus('2025-12-20T08:00:00Z'), '2026-01-20T07:59:59Z')).toEqual([
      'plus 2025-12-20T08:00Z 2026-01-20T08:00Z',
    ]);
  });

  test('the period in which the subscription lapses is cut there, and the account is Free from that instant', async () => {
    const lapsing = plus('2026-01-10T00:00:00Z', '2026-02-20T06:00:00Z');
    expect(
      await periods(
        lapsing,
        '2026-02-09T23:59:59Z',
        '2026-02-10T00:00:00Z',
        '2026-02-20T05:59:59.999Z',
        '2026-02-20T06:00:00Z',
        '2026-03-01T00:00:00Z',
      ),
    ).toEqual([
      'plus 2026-01-10T00:00Z 2026-02-10T00:00Z',
      'plus 2026-02-10T00:00Z 2026-02-20T06:00Z',
      'plus 2026-02-10T00:00Z 2026-02-20T06:00Z',
      'free 2026-02-20T06:00Z 2026-03-01T00:00Z',
      'free 2026-03-01T00:00Z 2026-04-01T00:00Z',
    ]);
  });

  test('a subscription that lapses exactly at a boundary cuts nothing', async () => {
    const lapsing = plus('2026-01-10T00:00:00Z', '2026-02-10T00:00:00Z');
    expect(await periods(lapsing, '2026-02-09T23:59:59Z', '2026-02-10T00:00:00Z')).toEqual([
      'plus 2026-01-10T00:00Z 2026-02-10T00:00Z',
      'free 2026-02-10T00:00Z 2026-03-01T00:00Z',
    ]);
  });
});

describe('Free periods', () => {
  test('are calendar months in UTC, December included', async () => {
    expect(
      await periods(
        free(),
        '2026-11-30T23:59:59.999Z',
        '2026-12-01T00:00:00Z',
        '2026-12-31T23:59:59.999Z',
        '2027-01-01T00:00:00Z',
        '2028-02-29T12:00:00Z',
      ),
    ).toEqual([
      'free 2026-11-01T00:00Z 2026-12-01T00:00Z',
      'free 2026-12-01T00:00Z 2027-01-01T00:00Z',
      'free 2026-12-01T00:00Z 2027-01-01T00:00Z',
      'free 2027-01-01T00:00Z 2027-02-01T00:00Z',
      'free 2028-02-01T00:00Z 2028-03-01T00:00Z',
    ]);
  });

  test('the first one begins where the account became Free, the next at the start of the month', async () => {
    const since = free('2026-03-15T10:00:00Z');
    expect(await periods(since, '2026-03-20T00:00:00Z', '2026-04-02T00:00:00Z')).toEqual([
      'free 2026-03-15T10:00Z 2026-04-01T00:00Z',
      'free 2026-04-01T00:00Z 2026-05-01T00:00Z',
    ]);
  });
});

describe('for any plan, anchor, lapse and instant', () => {
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

  test('the period is the one that counting months from the anchor finds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof({ weight: 3, arbitrary: plusTerms }, freeTerms), async ({ terms, at }) => {
        expect(await periodAt(terms, at)).toEqual(expectedPeriod(terms, at));
      }),
      { numRuns: 1500 },
    );
  });

  test('the period holds the instant, and the next one begins where it ends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(plusTerms, freeTerms), async ({ terms, at }) => {
        const period = await periodAt(terms, at);
        expect(period.start <= at && at < period.end).toBe(true);
        expect((await periodAt(terms, period.end)).start).toEqual(period.end);
        expect(await periodAt(terms, new Date(period.end.getTime() - 1))).toEqual(period);
        expect(await periodAt(terms, period.start)).toEqual(period);
      }),
      { numRuns: 400 },
    );
  });
});
