import type { Messages } from '../ui/messages.ts';
import type { DailyCalls } from './daily-calls.ts';

/** The dimension that the plot and the table split calls by. */
export type Split = 'kind' | 'key';

/** One colour of the plot, one column of the table. */
export interface Series {
  label: string;
  /** By day, YYYY-MM-DD; a day without calls has none. */
  calls: Map<string, number>;
  total: number;
}

/** Keys that get a colour of their own; those with fewer calls share the last one. */
const MAX_KEYS = 5;

/** Calls a day: searches and lookups apart, or each key apart, the busiest first. */
export function seriesOf(rows: DailyCalls[], split: Split, messages: Messages): Series[] {
  return split === 'kind' ? byKind(rows, messages) : byKey(rows, messages);
}

function byKind(rows: DailyCalls[], messages: Messages): Series[] {
  return [
    series(messages.searches, rows, (row) => row.searches),
    series(messages.lookups, rows, (row) => row.lookups),
  ];
}

function byKey(rows: DailyCalls[], messages: Messages): Series[] {
  const admitted = rows.filter((row) => both(row) > 0);
  const keys = Map.groupBy(admitted, (row) => row.keyId);
  const all = [...keys.values()].map((ofKey) => series(keyLabel(ofKey[0]!, messages), ofKey, both));
  all.sort((a, b) => b.total - a.total);
  if (all.length <= MAX_KEYS + 1) return distinct(all);
  const rest = new Map<string, number>();
  for (const { calls } of all.slice(MAX_KEYS)) {
    for (const [day, count] of calls) rest.set(day, (rest.get(day) ?? 0) + count);
  }
  const total = all.slice(MAX_KEYS).reduce((sum, one) => sum + one.total, 0);
  return distinct([...all.slice(0, MAX_KEYS), { label: messages.otherKeys, calls: rest, total }]);
}

const both = (row: DailyCalls) => row.searches + row.lookups;

function series(label: string, rows: DailyCalls[], count: (row: DailyCalls) => number): Series {
  const calls = new Map<string, number>();
  let total = 0;
  for (const row of rows) {
    const added = count(row);
    if (added === 0) continue;
    calls.set(row.day, (calls.get(row.day) ?? 0) + added);
    total += added;
  }
  return { label, calls, total };
}

/** How a key is named where there is room for a word: its name, or how it begins. */
function keyLabel(
  key: { keyId: string | null; keyName: string; keyStart: string },
  messages: Messages,
): string {
  if (key.keyId === null) return messages.dashboardCalls;
  return key.keyName === '' ? `${key.keyStart}…` : key.keyName;
}

/** Two keys of one name would share a colour: the later ones get a number. */
function distinct(all: Series[]): Series[] {
  const seen = new Map<string, number>();
  return all.map((one) => {
    const count = (seen.get(one.label) ?? 0) + 1;
    seen.set(one.label, count);
    return count === 1 ? one : { ...one, label: `${one.label} (${count})` };
  });
}
