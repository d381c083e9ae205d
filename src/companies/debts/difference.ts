import type { Transaction } from '../../platform/postgres/connect.ts';
import { STAGING } from '../ingest/staging.ts';
import type { DebtKind } from './kind.ts';

/** A staged file beside the present dataset of its kind. */
export interface DebtDifference {
  /** The present dataset's date; `null` means that there is none. */
  presentDate: string | null;
  /** Companies in the present dataset. */
  present: number;
  /** Companies of the present dataset that the file has, too. */
  kept: number;
  /** The changes that an import would write: none for a first dataset, and none of natural persons. */
  appeared: number;
  changed: number;
  ended: number;
}

/** Compares the rows of the session's staging table with the dataset that they would replace. */
export async function compareStagedDebts(transaction: Transaction, kind: DebtKind): Promise<DebtDifference> {
  const [row] = await transaction<DebtDifference[]>`
    SELECT "presentDate", count(present_nif) AS present,
      count(*) FILTER (WHERE present_nif = staged_nif) AS kept,
      count(*) FILTER (WHERE is_announced AND present_nif IS NULL) AS appeared,
      count(*) FILTER (WHERE is_announced AND present_nif = staged_nif AND is_changed) AS changed,
      count(*) FILTER (WHERE is_announced AND staged_nif IS NULL) AS ended
    FROM (SELECT max(dataset_date)::text AS "presentDate" FROM debt_datasets WHERE kind = ${kind}) AS dataset
      LEFT JOIN LATERAL (
        SELECT present.nif AS present_nif, staged.nif AS staged_nif,
          (present.start_amount, present.end_amount) IS DISTINCT FROM (staged.start_amount, staged.end_amount) AS is_changed,
          "presentDate" IS NOT NULL AND NOT is_natural_person(nif) AS is_announced
        FROM (SELECT * FROM debts WHERE kind = ${kind}) AS present FULL JOIN ${transaction(STAGING)} staged USING (nif)
      ) AS compared ON true
    GROUP BY "presentDate"`;
  return row!;
}
