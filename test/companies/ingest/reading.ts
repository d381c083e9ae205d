/** Helpers of the tests of src/companies/ingest: files in a folder that goes away, and reading them whole. */
import { afterAll } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRows, type ReadOptions } from '../../../src/companies/ingest/open-rows.ts';
import { shownRow } from '../../../src/companies/ingest/rows.ts';
import type { RowSource } from '../../../src/companies/ingest/source.ts';
import { FileError } from '../../../src/platform/terminal/file-error.ts';

export const DIRECTORY = ['nif', 'legal_name'];

/** The folder of the tests' files. A test that writes there calls `removeFilesAfterwards`. */
export const folder = join(tmpdir(), `files-test-${process.pid}`);

/** Removes the folder when the tests of the calling file are done. */
export function removeFilesAfterwards(): void {
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
}

/** Writes a file into the tests' folder and gives its path. */
export function fileWith(name: string, content: string | Uint8Array): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

export interface Everything {
  rows: { line: number; values: (string | null)[]; raw: string }[];
  rejected: { line: number; reason: string; raw: string }[];
}

/** Everything that a source holds. */
export async function readAll(
  source: RowSource,
  columns: readonly string[] = DIRECTORY,
  options?: ReadOptions,
): Promise<Everything> {
  const reader = await openRows(source, columns, options);
  const everything: Everything = { rows: [], rejected: [] };
  for await (const batch of reader.batches) {
    for (const row of batch.rows) {
      everything.rows.push({ line: row.line, values: [...row.values], raw: shownRow(row.raw) });
    }
    everything.rejected.push(...batch.rejected);
  }
  return everything;
}

/** The rows of a CSV file of this content. */
export function readCsv(content: string | Uint8Array, columns?: readonly string[]): Promise<Everything> {
  return readAll({ path: fileWith('rows.csv', content) }, columns);
}

/** The values of the rows alone. */
export async function valuesOf(reading: Promise<Everything>): Promise<(string | null)[][]> {
  return (await reading).rows.map((row) => row.values);
}

/** The line and the reason of the rejects alone. */
export async function rejectsOf(reading: Promise<Everything>): Promise<[number, string][]> {
  return (await reading).rejected.map(({ line, reason }) => [line, reason]);
}

/** The one line that a file is refused with. */
export async function refusal(reading: Promise<unknown>): Promise<string> {
  try {
    await reading;
  } catch (error) {
    if (error instanceof FileError && !error.message.includes('\n'))
      return error.message.replace(`${folder}/`, '');
    throw error;
  }
  throw new Error('it was read');
}

/** A stream that hands out bytes in pieces of these sizes, over and over. */
export function streamOf(content: string | Uint8Array, sizes: number[]): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(content as Uint8Array);
  let at = 0;
  let piece = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const size = sizes[piece++ % sizes.length]!;
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + size)));
      at += size;
    },
  });
}
