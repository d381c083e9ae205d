import { CALL_KINDS, type CallKind } from '../../http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../http/error-kind.ts';
import type { Messages } from '../messages.ts';
import { callsOf, type DailyCalls, errorsOf, OTHER_KEYS } from './daily-calls.ts';

/** The dimension that the plots and the tables split by. */
export type Split = 'kind' | 'key';

/** The colours of the style sheet: of kinds and keys, of refusals, and of other errors. Red stands for refusals alone. */
type Colour =
  | 1
  | 2
  | 3
  | 4
  | 5
  | 6
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

/** Keys with a colour each. Of more keys, the ones with the fewest calls and errors share the last colour. */
export const MAX_SERIES = 6;

const KIND_COLOURS: Record<CallKind, Colour> = { search: 1, match: 2, lookup: 3, debts: 4, resolve: 5 };
const ERROR_COLOURS: Record<ErrorKind, Colour> = {
  'rate-limit-exceeded': 'refused-1',
  'monthly-quota-exceeded': 'refused-2',
  'key-limits': 'refused-4',
  '401': 'refused-3',
  '4xx': 'error-1',
  '5xx': 'error-2',
};

/**
 * The counts a day, each kind or each key that has any apart. A kind and a key have the same colour in every plot of a page.
 */
export function seriesOf(rows: DailyCalls[], counted: Counted, split: Split, messages: Messages): Series[] {
  const all =
    split === 'key'
      ? byKey(rows, counted, messages)
      : counted === 'credits'
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

/** The busiest keys by either count come first, so that a key whose calls are all refused has its colour, too. */
function byKey(rows: DailyCalls[], counted: Counted, messages: Messages): Series[] {
  const { own: ofOwn = [], others = [] } = Object.groupBy(rows, ({ keyId }) =>
    keyId === OTHER_KEYS ? 'others' : 'own',
  );
  const keys = [...Map.groupBy(ofOwn, ({ keyId }) => keyId).values()];
  const ranks = [callsOf, errorsOf].map((count) => rankBy(keys, count));
  const rankOf = (key: DailyCalls[]) => Math.min(...ranks.map((rank) => rank.get(key)!));
  keys.sort((a, b) => rankOf(a) - rankOf(b));
  const rest = keys.length + (others.length > 0 ? 1 : 0) > MAX_SERIES ? keys.splice(MAX_SERIES - 1) : [];
  const count = counted === 'credits' ? callsOf : errorsOf;
  const labels = numbered(keys.map(([key]) => keyLabel(key!, messages)));
  const own = keys.map((ofKey, index) => series(labels[index]!, (index + 1) as Colour, ofKey, count));
  return [...own, series(messages.otherKeys, MAX_SERIES, [...rest.flat(), ...others], count)];
}

/** The place of each key, the one with the highest count first. A key without any is behind all keys. */
function rankBy(keys: DailyCalls[][], count: (row: DailyCalls) => number): Map<DailyCalls[], number> {
  const totals = new Map(keys.map((key) => [key, key.reduce((sum, row) => sum + count(row), 0)]));
  const sorted = keys.toSorted((a, b) => totals.get(b)! - totals.get(a)!);
  return new Map(sorted.map((key, index) => [key, totals.get(key)! > 0 ? index : keys.length]));
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

/** Keys of the same name get a number. */
const numbered = (labels: string[]) =>
  labels.map((label, index) => {
    const count = labels.slice(0, index + 1).filter((other) => other === label).length;
    return count === 1 ? label : `${label} (${count})`;
  });

/** The name of a key, or the beginning of its secret. */
function keyLabel(key: DailyCalls, messages: Messages): string {
  if (key.keyId === null) return messages.dashboard;
  return key.keyName === '' ? `${key.keyStart}…` : key.keyName;
}
