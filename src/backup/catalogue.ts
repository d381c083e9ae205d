/** The tables as Postgres's catalogue describes them, so that a new table is in every backup by itself. */
import type { Sql, Transaction } from '../platform/postgres/connect.ts';

export interface Table {
  name: string;
  /** Those that are stored; Postgres computes the others. */
  columns: string[];
  /** The statement that makes it, of columns with nothing but their types. Tables of the migrations don't need it. */
  create: string;
  /** The statements that complete it once it has its rows. */
  complete: string[];
  /** Rows, as Postgres estimates. */
  estimate: number;
}

export interface Sequence {
  name: string;
  last: number;
}

/** A statement that removes something, and the one that makes it again. */
export interface Removable {
  remove: string;
  restore: string;
}

/**
 * Every table that holds rows: partitions, but not the table that they are parts of. Rows of a partitioned table are in its
 * partitions, and a lock on it would stop a service that makes the next one.
 */
export async function readTables(sql: Sql | Transaction): Promise<Table[]> {
  return sql<Table[]>`
    SELECT relname AS name,
      ARRAY(SELECT attname::text FROM pg_attribute
        WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum) AS columns,
      format('CREATE TABLE %I ', relname)
        || CASE WHEN relispartition
          THEN format('PARTITION OF %s %s', (SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = t.oid),
            pg_get_expr(relpartbound, t.oid))
          ELSE format('(%s)', (SELECT string_agg(concat_ws(' ', quote_ident(attname), format_type(atttypid, atttypmod),
              CASE WHEN attcollation <> typcollation THEN format('COLLATE %s', attcollation::regcollation) END), ', '
              ORDER BY attnum)
            FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
            WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped)) END
        || coalesce(' WITH (' || array_to_string(reloptions, ', ') || ')', '') AS create,
      ARRAY(SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s', relname, conname, pg_get_constraintdef(oid))
        FROM pg_constraint WHERE conrelid = t.oid AND contype IN ('p', 'u', 'x', 'c') AND conparentid = 0 AND conislocal
        ORDER BY conname)
      || ARRAY(SELECT pg_get_indexdef(indexrelid, 0, true) FROM pg_index
        WHERE indrelid = t.oid AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = t.oid)
          AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = indexrelid)
        ORDER BY indexrelid::regclass::text) AS complete,
      greatest(reltuples, 0)::bigint AS estimate
    FROM pg_class t
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    ORDER BY relname COLLATE "C"`;
}

/** The sequences that have given a number. */
export async function readSequences(sql: Sql | Transaction): Promise<Sequence[]> {
  return sql<Sequence[]>`
    SELECT sequencename::text AS name, last_value AS last FROM pg_sequences
    WHERE schemaname = current_schema() AND last_value IS NOT NULL
    ORDER BY 1`;
}

/**
 * Foreign keys, triggers and indexes, which a restore removes in this order and makes again behind the rows. Foreign keys would want the
 * rows in an order, and our own triggers would count them a second time. To build indexes, and the constraints that have one, behind the
 * rows takes a fraction of the time. Foreign keys and triggers of partitions are their tables'; indexes of partitions stay.
 */
export async function readRemovable(sql: Sql | Transaction): Promise<Removable[]> {
  return sql<Removable[]>`
    SELECT remove, restore FROM (
      SELECT CASE contype WHEN 'f' THEN 1 ELSE 3 END AS step,
        format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS remove,
        format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(c.oid)) AS restore
      FROM pg_constraint c JOIN pg_class t ON t.oid = conrelid
      WHERE connamespace = current_schema()::regnamespace AND conparentid = 0
        AND (contype = 'f' OR contype IN ('p', 'u', 'x') AND relkind = 'r' AND NOT relispartition)
      UNION ALL
      SELECT 2, format('ALTER TABLE %s DISABLE TRIGGER %I', tgrelid::regclass, tgname),
        format('ALTER TABLE %s ENABLE TRIGGER %I', tgrelid::regclass, tgname)
      FROM pg_trigger JOIN pg_class t ON t.oid = tgrelid
      WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal AND tgparentid = 0
      UNION ALL
      SELECT 3, format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid, 0, true)
      FROM pg_index JOIN pg_class t ON t.oid = indrelid
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND NOT relispartition
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid AND contype IN ('p', 'u', 'x'))
    ) AS removable ORDER BY step, remove`;
}
