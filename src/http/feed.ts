/**
 * A feed: numbered rows that a reader follows with a cursor, the id of the last row that it has (docs/api.md: activity, follow changes
 * of debts). The oldest rows are removed, and a cursor before them has expired.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import type { Log } from '../platform/observability/log.ts';
import { type Periodic, startInterval } from '../platform/runtime/interval.ts';
import type { Cleanup } from '../platform/runtime/shutdown.ts';
import { MINUTE } from '../platform/units.ts';
import { type Answer, ok, type ProblemAnswer, problem } from './answer.ts';

const PURGE_EVERY_MS = 10 * MINUTE;

/** The bounds of a feed at one moment. */
interface Bounds {
  /** Rows up to this number are removed; 0 means none. */
  removed: number;
  /** No row of any reader has a higher number yet, but every later one will. */
  last: number;
  /** The highest number that a cursor can have, in a database that this one was restored from, too. */
  highest: number;
}

/** Rows after a number, oldest first, and which ones there are, all at one moment. */
export interface FeedPage<Row> extends Bounds {
  rows: Row[];
  /** Whether further rows follow. */
  more: boolean;
}

interface FeedOptions {
  /** Before the number in an id: `act`. */
  prefix: string;
  example: number;
  /** The word for a row, in English. */
  row: string;
  /** How a reader begins, behind "It takes: the `next` of an earlier answer as it was". */
  begin: string;
  expired: 'activity-expired' | 'changes-expired';
  /** Rows of a page at most. */
  pageRows: number;
}

export function defineFeed({ prefix, example, row, begin, expired, pageRows }: FeedOptions) {
  // The clock has sixteen digits. Beyond 2^53 a number is not exact, and far in the future.
  const form = new RegExp(`^${prefix}_(0|[1-9][0-9]{0,15})$`);
  const write = (number: number) => `${prefix}_${number}`;
  const Cursor = (description: string) =>
    Type.String({ pattern: form.source, description, examples: [write(example)] });
  const noCursor = () =>
    problem(
      'validation',
      `"after" is not the \`next\` of an answer. It takes: the \`next\` of an earlier answer as it was${begin}`,
      { reason: 'cursor' },
    );

  return {
    pageRows,
    Cursor,
    /** The id of a row in the API, and so a reader's place. */
    write,
    /** @returns the number of a cursor; `null` if the text is none */
    read(text: string): number | null {
      const [, number] = form.exec(text) ?? [];
      return number === undefined ? null : Number(number);
    },
    id: Cursor(`Names the ${row}; ids rise in the order of the ${row}s.`),
    answerSchema: <Row extends TSchema>(item: Row, $id: string) =>
      Type.Object(
        {
          data: Type.Array(item, { maxItems: pageRows, description: `At most ${pageRows}, oldest first.` }),
          next: Cursor('The `after` of the next request. Keep it once you have stored what is in `data`.'),
          more: Type.Boolean({ description: `Whether further ${row}s follow: ask again at once.` }),
        },
        { $id },
      ),
    /** The page of a statement that reads the bounds beside up to `pageRows + 1` rows, or beside one of nulls. */
    pageOf<Row extends { number: number }>(
      found: readonly (Bounds & { [Column in keyof Row]: Row[Column] | null })[],
    ): FeedPage<Row> {
      const { removed, last, highest, number } = found[0]!;
      const rows =
        number === null ? [] : found.map(({ removed, last, highest, ...row }) => row as never as Row);
      return { rows: rows.slice(0, pageRows), more: rows.length > pageRows, removed, last, highest };
    },
    noCursor,
    /** The problem of a cursor beyond the page's bounds. */
    refusal({ removed, highest }: Bounds, after: number | null): ProblemAnswer | null {
      if (after === null || (after >= removed && after <= highest)) return null;
      if (after > highest) return noCursor();
      const oldest = write(removed);
      const rows = `${row[0]!.toUpperCase()}${row.slice(1)}s`;
      return problem(
        expired,
        `${rows} after this cursor are no longer kept. Those that are follow ${oldest}.`,
        { members: { oldest } },
      );
    },
    /** @param paid the rows that the answer may have */
    answer<Row extends { number: number }>(
      { rows, more, last, removed }: FeedPage<Row>,
      after: number | null,
      present: (row: Row) => object,
      paid = rows.length,
    ): Answer {
      const shown = rows.slice(0, paid);
      const isCutShort = more || shown.length < rows.length;
      return ok({
        data: shown.map(present),
        // A reader that has all goes on from the latest row of any reader, so its cursor does not expire. A cursor of before a
        // restore may be further.
        next: write(isCutShort ? shown.at(-1)!.number : Math.max(last, removed, after ?? 0)),
        more: isCutShort,
      });
    },
  };
}

/** Removes old rows of a feed while the service runs. @param what they are, for the log */
export function startPurge(what: string, purge: () => Promise<unknown>, log: Log, tasks: Cleanup): Periodic {
  const purges = startInterval(
    async () => void (await purge()),
    PURGE_EVERY_MS,
    (error) => log.warn({ err: error }, `${what} could not be removed`),
  );
  tasks.add(`the removal of ${what}`, purges.stop);
  return purges;
}
