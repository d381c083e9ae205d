import { type Static, Type } from '@sinclair/typebox';
import type { Sql } from '../platform/postgres/connect.ts';

export const Sha256 = (description: string) => Type.String({ pattern: '^[0-9a-f]{64}$', description });

const FileDigestSchema = Type.Object(
  {
    sha256: Sha256('Of the bytes as they were read, packed if the file was.'),
    bytes: Type.Integer({ minimum: 0, description: 'Their number.' }),
  },
  { $id: 'ImportedFile' },
);

export type FileDigest = Static<typeof FileDigestSchema>;

/** A {@link FileDigest}, or `null`. */
export const FileDigestOrNull = (description: string) =>
  Type.Union([FileDigestSchema, Type.Null()], { description });

/** SQL: a {@link FileDigest}, if the import at `at` had this file. 0.1.0 keeps none. */
export const digestOf = (sql: Sql, at: 'imported_at' | 'loaded_at') => sql`
  CASE WHEN file_at = ${sql(at)} THEN json_build_object('sha256', file_sha256, 'bytes', file_bytes) END`;
