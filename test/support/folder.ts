import { afterAll } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a temporary folder for the tests of a file or of a `describe`, and removes it after them. @returns its path */
export function createFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-test-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
