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

/** Indexes, and the constraints that have one: to build them behind the rows takes a fraction of the time. Those of partitions stay. */
export async function readIndexes(sql: Sql | Transaction): Promise<Removable[]> {
  return sql<Removable[]>`
    SELECT CASE WHEN conname IS NULL THEN format('DROP INDEX %s', indexrelid::regclass)
        ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', indrelid::regclass, conname) END AS remove,
      CASE WHEN conname IS NULL THEN pg_get_indexdef(indexrelid, 0, true)
        ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', indrelid::regclass, conname, pg_get_constraintdef(c.oid)) END AS restore
    FROM pg_index JOIN pg_class t ON t.oid = indrelid
      LEFT JOIN pg_constraint c ON conindid = indexrelid AND conrelid = indrelid AND contype IN ('p', 'u', 'x')
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND NOT relispartition
    ORDER BY 1`;
}

/** Foreign keys between tables, which would want their rows in an order. Those of partitions are their tables'. */
export async function readForeignKeys(sql: Sql | Transaction): Promise<Removable[]> {
  return sql<Removable[]>`
    SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS remove,
      format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS restore
    FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace AND contype = 'f' AND conparentid = 0
    ORDER BY 1`;
}

/** Triggers of our own, which would count the rows of a restore a second time. */
export async function readTriggers(sql: Sql | Transaction): Promise<Removable[]> {
  return sql<Removable[]>`
    SELECT format('ALTER TABLE %s DISABLE TRIGGER %I', tgrelid::regclass, tgname) AS remove,
      format('ALTER TABLE %s ENABLE TRIGGER %I', tgrelid::regclass, tgname) AS restore
    FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal AND tgparentid = 0
    ORDER BY 1`;
}
