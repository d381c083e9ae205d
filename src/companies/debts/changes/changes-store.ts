import type { FeedPage } from '../../../http/feed.ts';
import { answerOf } from '../../../platform/postgres/answer.ts';
import type { Sql } from '../../../platform/postgres/connect.ts';
import type { Amounts } from '../bracket.ts';
import type { DebtKind } from '../kind.ts';
import { CHANGES } from './changes-feed.ts';

/** One company whose bracket differs between a dataset and the one before. */
export interface Change {
  number: number;
  at: Date;
  kind: DebtKind;
  nif: string;
  /** `null` means that the company was not in the dataset. */
  before: Amounts | null;
  after: Amounts | null;
  /** Of the dataset that the change came with, YYYY-MM-DD. */
  date: string;
}

export interface PageOptions {
  /** Changes behind this number; `null` means all that are kept. */
  after: number | null;
  /** Of these companies; `null` means of all. */
  nifs: string[] | null;
  kinds: readonly DebtKind[];
}

/** Reads a page, oldest first. @throws when the changes can't be read */
export type ReadPage = (options: PageOptions) => Promise<FeedPage<Change>>;

/** SQL: the bracket of a change on one side. */
const amounts = (side: 'before' | 'after') =>
  `CASE WHEN ${side}_start IS NOT NULL THEN json_build_object('start', ${side}_start, 'end', ${side}_end) END AS ${side}`;

/**
 * Reads a page, oldest first. One statement reads the changes and their bounds, so both are of one moment. It costs the same
 * however many changes there are, because the first rows of each kind, or of each company, stand together in an index.
 */
export async function readPage(sql: Sql, { after, nifs, kinds }: PageOptions): Promise<FeedPage<Change>> {
  // Not a parameter, so that every plan is one for few rows.
  const limit = sql.unsafe(String(CHANGES.pageRows + 1));
  const parts =
    nifs === null
      ? sql`unnest(${[...kinds]}::text[]) AS part (kind)`
      : sql`unnest(${nifs}::text[]) AS part (nif)`;
  const isOfPart =
    nifs === null
      ? sql`change.kind = part.kind`
      : sql`change.nif = part.nif AND change.kind = ANY (${[...kinds]}::text[])`;
  const query = sql<Parameters<typeof CHANGES.pageOf<Change>>[0]>`
    SELECT numbers.last, numbers.purged AS removed, greatest(numbers.last, change_number_now()) AS highest, page.*
    FROM debt_change_numbers numbers LEFT JOIN LATERAL (
      SELECT number, at, first.kind, first.nif, dataset_date::text AS date,
        ${sql.unsafe(amounts('before'))}, ${sql.unsafe(amounts('after'))}
      FROM ${parts} CROSS JOIN LATERAL (
        SELECT * FROM debt_changes change
        WHERE ${isOfPart} AND change.number > coalesce(${after}::bigint, numbers.purged)
        ORDER BY change.number LIMIT ${limit}
      ) AS first
      ORDER BY number LIMIT ${limit}
    ) AS page ON true
    ORDER BY number`;
  return CHANGES.pageOf<Change>(await answerOf(query));
}
