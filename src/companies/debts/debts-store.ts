import type { Sql } from '../../platform/postgres/connect.ts';
import { createBatcher } from '../../platform/runtime/batcher.ts';
import { digestOf, type FileDigest } from '../file-digest.ts';
import type { Debts } from './bracket.ts';
import type { DebtKind } from './kind.ts';

/** The brackets of a list of companies, and the datasets that they are from, all at one moment. */
export interface Screened {
  /** By NIF; a company without brackets is absent. */
  debts: ReadonlyMap<string, Debts>;
  /** One that was never imported is absent or `null`; `file: null` means that its file is not known. */
  datasets: { [kind in DebtKind]?: { date: string; file: FileDigest | null } | null };
}

/** @param nifs valid, nine digits */
export type Screen = (nifs: string[]) => Promise<Screened>;

/** Each request is one query: with a thousand companies there is nothing to win by sharing one. */
export function createScreen(sql: Sql): Screen {
  return createBatcher(
    async (requests: string[][], bound) => [screenedOf(await bound(screenQuery(sql, requests[0]!)))],
    { name: 'Postgres', stage: 'debts', maxBatch: 1 },
  );
}

/** A dataset has a date and no NIF, a bracket has a NIF. */
type Row = [
  kind: DebtKind,
  date: string | null,
  nif: string | null,
  start: number,
  end: number | null,
  file: FileDigest | null,
];

/** As a query, for callers that bound its wait. In their order a thousand NIFs take Postgres three quarters of the time. */
function screenQuery(sql: Sql, nifs: string[]): PromiseLike<Row[]> {
  const query = sql`
    SELECT kind, dataset_date::text, NULL, NULL::bigint, NULL::bigint, ${digestOf(sql, 'imported_at')} FROM debt_datasets
    UNION ALL
    SELECT kind, NULL, nif, start_amount, end_amount, NULL FROM debts WHERE nif = ANY (${nifs.toSorted()}::text[])`;
  return query.values() as unknown as PromiseLike<Row[]>;
}

function screenedOf(rows: Row[]): Screened {
  const datasets: Screened['datasets'] = {};
  for (const [kind, date, , , , file] of rows) if (date !== null) datasets[kind] = { date, file };
  const debts = new Map<string, Debts>();
  for (const [kind, , nif, start, end] of rows) {
    if (nif === null) continue;
    debts.set(nif, { ...debts.get(nif), [kind]: { start, end, last_updated: datasets[kind]!.date } });
  }
  return { debts, datasets };
}
