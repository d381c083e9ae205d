import { Type } from '@sinclair/typebox';
import type { Sql } from '../platform/postgres/connect.ts';

/** The bytes of a file as they were read, so packed if the file is. */
export interface FileDigest {
  /** 64 hexadecimal digits. */
  sha256: string;
  bytes: number;
}

export const Sha256 = (description: string) => Type.String({ pattern: '^[0-9a-f]{64}$', description });

/** A {@link FileDigest}, or `null`. */
export const FileDigestOrNull = (description: string) =>
  Type.Union([FileDigestSchema, Type.Null()], { description });

const FileDigestSchema = Type.Object(
  {
    sha256: Sha256('Of the bytes as they were read, packed if the file was.'),
    bytes: Type.Integer({ minimum: 0, description: 'Their number.' }),
  },
  { $id: 'ImportedFile' },
);

/** SQL: a {@link FileDigest}, if the import at `at` had this file. 0.1.0 keeps none. */
export const digestOf = (sql: Sql, at: 'imported_at' | 'loaded_at') => sql`
  CASE WHEN file_at = ${sql(at)} THEN json_build_object('sha256', file_sha256, 'bytes', file_bytes) END`;
