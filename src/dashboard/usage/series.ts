import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import type { Messages } from '../messages.ts';
import type { DailyCalls } from './daily-calls.ts';

/** The colours of the style sheet: of kinds of calls, of refusals, and of other errors. Red stands for refusals alone. */
type Colour =
  | 1
  | 2
  | 3
  | 4
  | 5
  | 'refused-1'
  | 'refused-2'
  | 'refused-3'
  | 'refused-4'
  | 'error-1'
  | 'error-2';

/** One colour of the plot, one column of the table. */
export interface Series {
  label: string;
  colour: Colour;
  /** By day, YYYY-MM-DD; a day without any has none. */
  counts: Map<string, number>;
  total: number;
}

/** The unit of a plot: the credits of charged calls, or errors. */
export type Counted = 'credits' | 'errors';

const KIND_COLOURS: Record<CallKind, Colour> = { search: 1, match: 2, lookup: 3, debts: 4, resolve: 5 };
const ERROR_COLOURS: Record<ErrorKind, Colour> = {
  'rate-limit-exceeded': 'refused-1',
  'monthly-quota-exceeded': 'refused-2',
  'key-limits': 'refused-4',
  '401': 'refused-3',
  '4xx': 'error-1',
  '5xx': 'error-2',
};

/** The counts a day, each kind that has any apart. */
export function seriesOf(rows: DailyCalls[], counted: Counted, messages: Messages): Series[] {
  const all =
    counted === 'credits'
      ? byKind(rows, CALL_KINDS, messages.callKinds, KIND_COLOURS)
      : byKind(rows, ERROR_KINDS, messages.errorKinds, ERROR_COLOURS);
  return all.filter(({ total }) => total > 0);
}

function byKind<Kind extends CallKind | ErrorKind>(
  rows: DailyCalls[],
  kinds: readonly Kind[],
  labels: Record<Kind, string>,
  colours: Record<Kind, Colour>,
): Series[] {
  return kinds.map((kind) => series(labels[kind], colours[kind], rows, (row) => row[kind]));
}

function series(
  label: string,
  colour: Colour,
  rows: DailyCalls[],
  count: (row: DailyCalls) => number,
): Series {
  const counts = new Map<string, number>();
  let total = 0;
  for (const row of rows) {
    const value = count(row);
    if (value > 0) counts.set(row.day, (counts.get(row.day) ?? 0) + value);
    total += value;
  }
  return { label, colour, counts, total };
}
