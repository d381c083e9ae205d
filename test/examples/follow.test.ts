/** The example that follows the changes of a list: what it asks for and pays from run to run, and what a killed run leaves. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { rm, truncate } from 'node:fs/promises';
import { importBrackets } from '../companies/debts/debts-support.ts';
import { nif } from '../support/companies.ts';
import { COMPANIES, type Files, LANGUAGES, type RunOptions, SUPPLIERS, startExamples } from './programs.ts';

const { api, withFile } = await startExamples();
afterAll(() => api.stop());

const brackets = (start: number) =>
  Object.fromEntries(COMPANIES.map((company) => [company, [start, null] as const]));

describe.each(LANGUAGES)('the example that follows changes in %s', (language) => {
  let files: Files;
  beforeEach(async () => {
    files = await withFile(language, SUPPLIERS);
  });

  test('follows a list of any length, a request for each 1,000; killed, it has each change once', async () => {
    const MANY = Array.from({ length: 2100 }, (_, n) => nif(n));
    await Bun.write(files.input, MANY.join('\n'));
    const changed = [MANY[3]!, MANY[1500]!, MANY[2050]!];
    const bracketsOf = (start: number) =>
      Object.fromEntries(changed.map((company) => [company, [start, null] as const]));
    await importBrackets(api.database, bracketsOf(1));
    await files.run('follow');
    const begin = (await files.lines()).map((line) => JSON.parse(line)).filter(({ next }) => next);
    expect(begin.map(({ left }) => left)).toEqual([2, 1, undefined]);
    const before = (await files.lines()).length;
    await importBrackets(api.database, bracketsOf(2));
    await files.run('follow', { killAt: 2 });
    const { code, stderr, requests } = await files.run('follow');
    expect([code, stderr, requests.length]).toEqual([0, '', 2]);
    const changes = (await files.lines()).slice(before).flatMap((line) => JSON.parse(line).nif ?? []);
    expect(changes).toEqual(changed);
    // As if the import had come between two requests of one run: the next run begins before it, also for a company that has moved.
    const ended = await Bun.file(files.out).text();
    const file = ended.replace(/(?<="next":")chg_\d+(?=","left":2\}\n(.*\n){4}$)/, begin[0].next);
    expect(file).not.toBe(ended);
    await Bun.write(files.out, file);
    await Bun.write(files.input, MANY.toReversed().join('\n'));
    const again = await files.run('follow');
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.requests).toHaveLength(3);
    expect((await files.lines()).length).toBe(before + 3 + 3 + 3);
  });

  test('follows changes from run to run; killed, it has each change once and pays for each once', async () => {
    await importBrackets(api.database, brackets(1));
    const follow = (options: RunOptions = {}) => files.run('follow', options);
    // Without the changes of other tests.
    await api.sql`UPDATE debt_change_numbers SET purged = last`;
    await api.sql`DELETE FROM debt_changes`;

    await importBrackets(api.database, brackets(2));
    await follow({ killAt: 3 });
    expect([await files.used(), (await files.lines()).length]).toEqual([200, 200]);
    const { code, stderr, stdout } = await follow();
    const written = (await files.lines()).map((line) => JSON.parse(line));
    const told = written.slice(200, 250).map(({ nif, date }) => `${nif} tax changed ${date}\n`);
    expect([code, stderr, stdout]).toEqual([0, '', told.join('')]);
    expect(await files.used()).toBe(250);
    expect(written.slice(0, 250).map(({ nif }) => nif)).toEqual(COMPANIES.toSorted());
    expect(written).toHaveLength(251);
    expect(written[250]).toEqual({ next: written[249].id });
    expect(written[0]).toMatchObject({ kind: 'tax', change: 'changed', after: { start: 2, end: null } });

    // Nothing new: one credit, and the cursor once more.
    expect(await follow()).toMatchObject({ code: 0, stdout: '' });
    expect([await files.used(), (await files.lines()).length]).toEqual([251, 252]);

    // Two changes, of which the last run has paid one. The second is cut off, as by a kill: the program asks for it again.
    await importBrackets(api.database, { ...brackets(2), [nif(1)]: [3, null], [nif(2)]: [3, null] });
    await follow();
    expect(await files.used()).toBe(252);
    const file = await Bun.file(files.out).text();
    await truncate(files.out, file.lastIndexOf('{"id"') + 20);
    expect(await follow()).toMatchObject({ code: 0 });
    expect(await Bun.file(files.out).text()).toBe(file);
    expect(await files.used()).toBe(252);
  });

  test('says what to do when its cursor is too old', async () => {
    await Bun.write(files.out, '{"next":"chg_1"}\n');
    const { code, stderr } = await files.runFree('follow');
    expect([code, stderr]).toEqual([1, expect.stringContaining('screen the list again')]);
  });

  test('screens and follows the companies of the test world for nothing', async () => {
    await Bun.write(files.input, '599910054\n599910011\n');
    expect(await files.runFree('screen')).toMatchObject({ code: 0, stderr: '' });
    expect((await files.lines()).slice(1)).toEqual([
      '599910054,200,100001,500000,2026-10-28,100001,250000,2026-10-29',
      '599910011,200,,,,,,',
    ]);
    await rm(files.out);
    expect(await files.runFree('follow')).toMatchObject({ code: 0, stderr: '' });
    const changes = (await files.lines()).map((line) => JSON.parse(line)).filter(({ id }) => id);
    expect(changes.filter(({ kind }) => kind === 'social_security').map(({ change }) => change)).toEqual([
      'appeared',
      'changed',
    ]);
    expect(await files.used()).toBe(0);
  });
});
