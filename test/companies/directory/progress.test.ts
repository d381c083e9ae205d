import { afterEach, describe, expect, test } from 'bun:test';
import { importCompanies } from '../../../src/companies/directory/directory-import.ts';
import { rebuildIndex } from '../../../src/companies/directory/rebuild.ts';
import type { Progress } from '../../../src/platform/terminal/progress.ts';
import { csv } from '../../support/companies.ts';
import { MODES } from '../../support/modes.ts';
import { NO_PROGRESS } from '../../support/progress.ts';
import { createWorkbench, type Workbench } from '../../support/workbench.ts';

let bench: Workbench;
afterEach(() => bench.close());

/** Progress that writes down its phases and notes. */
function record() {
  const seen: string[] = [];
  const progress: Progress = {
    ...NO_PROGRESS,
    phase: (name) => void seen.push(name),
    note: (line) => void seen.push(`note: ${line}`),
  };
  return { progress, seen };
}

describe.each([...MODES])('progress of what changes the directory (%s)', (mode) => {
  test('each phase comes once, and the notes tell when searches see the new directory', async () => {
    bench = await createWorkbench(mode);
    const files = [csv(0, 50), csv(0, 51), csv(0, 90)];
    const phasesOf = (seen: string[]) => seen.filter((line) => !line.startsWith('note: '));
    for (const [n, text] of files.entries()) {
      const path = await bench.write(`${n}.csv`, text);
      const { progress, seen } = record();
      await importCompanies(bench.tools, { path }, {}, progress);
      const phases = phasesOf(seen);
      expect(phases.slice(0, 3)).toEqual([`reading ${path}`, 'comparing', 'storing the rows']);
      expect(phases.slice(3).some((name) => /index/.test(name))).toBe(true);
      expect(new Set(phases).size).toBe(phases.length);
      expect(seen.slice(-2)).toEqual(['note: searches see the new directory', 'removing what is old']);
    }
    const { progress, seen } = record();
    await rebuildIndex(bench.tools, progress);
    expect(new Set(phasesOf(seen)).size).toBe(phasesOf(seen).length);
    expect(seen.slice(-2)).toEqual(['note: searches go to the new index', 'removing what is old']);
  });

  test('an interruption after that is too late: the import is done, and answers', async () => {
    bench = await createWorkbench(mode);
    await bench.importText(csv(0, 10));
    const controller = new AbortController();
    const note = (line: string) => {
      if (line === 'searches see the new directory') controller.abort(new Error('interrupted'));
    };
    const path = await bench.write('late.csv', csv(0, 20));
    const tools = { ...bench.tools, signal: controller.signal };
    const report = await importCompanies(tools, { path }, {}, { ...NO_PROGRESS, note });
    expect(report).toMatchObject({ imported: 10, unchanged: 10 });
    expect(await bench.search('empresa')).toHaveLength(20);
  });
});
