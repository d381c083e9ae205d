import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { openRejects } from '../../../src/companies/ingest/rejects.ts';
import { fileWith, folder, readAll, refusal, removeFilesAfterwards } from './reading.ts';

removeFilesAfterwards();
mkdirSync(folder, { recursive: true });

const SIGNAL = new AbortController().signal;

const unfinished = () => readdirSync(folder).filter((name) => name.endsWith('.tmp'));

/** The `row` cell of a reject of this raw row, as a CSV reader gives it. */
async function cellOf(raw: string): Promise<string> {
  const path = join(folder, 'cell.csv');
  const writer = await openRejects(path, SIGNAL);
  await writer.write([{ line: 7, reason: 'r', raw }]);
  await writer.finish();
  await writer.close();
  const { rows, rejected } = await readAll({ path }, ['line', 'reason', 'row']);
  expect(rejected).toEqual([]);
  expect(rows.map((row) => row.values.slice(0, 2))).toEqual([['7', 'r']]);
  return rows[0]!.values[2]!;
}

describe('the file of rejects', () => {
  test('is CSV with line, reason and the row as it was read', async () => {
    const path = join(folder, 'rejects.csv');
    const writer = await openRejects(path, SIGNAL);
    await writer.write([{ line: 2, reason: 'bad NIF', raw: '500,"ACME ""X"", Lda";é' }]);
    await writer.write([{ line: 1_000_000, reason: 'no name', raw: '' }]);
    await writer.finish();
    await writer.close();
    expect(readFileSync(path, 'utf8')).toBe(
      'line,reason,row\n2,"bad NIF","500,""ACME """"X"""", Lda"";é"\n1000000,"no name",""\n',
    );
  });

  test('holds hundreds of thousands of rows in order', async () => {
    const path = join(folder, 'many.csv');
    const writer = await openRejects(path, SIGNAL);
    for (let batch = 0; batch < 20; batch++) {
      await writer.write(
        Array.from({ length: 10_000 }, (_, i) => ({
          line: batch * 10_000 + i + 2,
          reason: 'r',
          raw: `row ${i}`,
        })),
      );
    }
    await writer.finish();
    await writer.close();
    const { rows } = await readAll({ path }, ['line', 'row']);
    expect(rows.length).toBe(200_000);
    expect(
      rows.every((row, i) => row.values[0] === String(i + 2) && row.values[1] === `row ${i % 10_000}`),
    ).toBe(true);
  });

  test('appears whole or not at all, and replaces the one before only then', async () => {
    const path = fileWith('before.csv', 'before');
    const writer = await openRejects(path, SIGNAL);
    await writer.write([{ line: 2, reason: 'r', raw: 'x'.repeat(1_000) }]);
    expect(readFileSync(path, 'utf8')).toBe('before');
    await writer.close();
    expect(readFileSync(path, 'utf8')).toBe('before');
    expect(unfinished()).toEqual([]);

    const second = await openRejects(path, SIGNAL);
    await second.finish();
    expect(readFileSync(path, 'utf8')).toBe('line,reason,row\n');
    await second.close();
    expect(existsSync(path)).toBe(true);
    expect(unfinished()).toEqual([]);
  });

  test('of a killed command is removed by the next one that writes there; of one that runs it is not', async () => {
    const path = join(folder, 'killed.csv');
    const script = fileWith(
      'open-rejects.ts',
      `import { openRejects } from ${JSON.stringify(join(import.meta.dir, '../../../src/companies/ingest/rejects.ts'))};
      const writer = await openRejects(process.argv[2]!, new AbortController().signal);
      console.log('open');
      await Bun.stdin.text();
      await writer.finish();
      await writer.close();`,
    );
    const start = async () => {
      const child = Bun.spawn([process.execPath, script, path], { stdin: 'pipe', stdout: 'pipe' });
      await child.stdout.getReader().read();
      return child;
    };
    const killed = await start();
    const running = await start();
    fileWith('.killed.csv.not-ours.tmp', '');
    expect(unfinished()).toHaveLength(3);
    killed.kill('SIGKILL');
    await killed.exited;

    const ours = await openRejects(path, SIGNAL);
    expect(unfinished()).toHaveLength(3);
    await ours.finish();
    await ours.close();
    running.stdin.end();
    expect(await running.exited).toBe(0);
    expect(unfinished()).toEqual(['.killed.csv.not-ours.tmp']);
    rmSync(join(folder, '.killed.csv.not-ours.tmp'));
  });

  test('of many commands at once is whole: none takes the file of another for a leftover', async () => {
    const path = join(folder, 'at-once.csv');
    for (let round = 0; round < 20; round++) {
      const writers = await Promise.all(Array.from({ length: 20 }, () => openRejects(path, SIGNAL)));
      await Promise.all(writers.map((writer) => writer.finish().then(writer.close)));
    }
    expect(readFileSync(path, 'utf8')).toBe('line,reason,row\n');
    expect(unfinished()).toEqual([]);
  });

  test('is for its owner alone, and as strict as the file that it replaces', async () => {
    const write = async (path: string) => {
      const writer = await openRejects(path, SIGNAL);
      const unfinished = readdirSync(folder).find((name) => name.endsWith('.tmp'))!;
      expect(statSync(join(folder, unfinished)).mode & 0o077).toBe(0);
      await writer.finish();
      await writer.close();
      return (statSync(path).mode & 0o777).toString(8);
    };
    const umask = process.umask(0);
    try {
      expect(await write(join(folder, 'new.csv'))).toBe('600');
      for (const [before, after] of [
        [0o666, '600'],
        [0o640, '600'],
        [0o600, '600'],
        [0o400, '400'],
      ] as const) {
        const path = fileWith(`mode-${before}.csv`, 'before');
        chmodSync(path, before);
        const link = join(folder, `mode-link-${before}.csv`);
        symlinkSync(path, link);
        expect(await write(link)).toBe(after);
      }
    } finally {
      process.umask(umask);
    }
  });

  test('goes through a link, and to a device as it is', async () => {
    const path = fileWith('linked.csv', 'before');
    const link = join(folder, 'link.csv');
    symlinkSync(path, link);
    const writer = await openRejects(link, SIGNAL);
    await writer.finish();
    await writer.close();
    expect(readlinkSync(link)).toBe(path);
    expect(readFileSync(path, 'utf8')).toBe('line,reason,row\n');

    const nowhere = await openRejects('/dev/null', SIGNAL);
    await nowhere.write([{ line: 2, reason: 'r', raw: 'x' }]);
    await nowhere.finish();
    await nowhere.close();
    await (await openRejects('/dev/null', SIGNAL)).close();
    expect((await Bun.file('/dev/null').stat()).isCharacterDevice()).toBe(true);
  });

  test('is appended to the file behind a descriptor, which is neither emptied nor replaced', async () => {
    const log = fileWith('run.log', 'old\n');
    const { ino } = statSync(log);
    let expected = 'old\n';
    const fd = openSync(log, 'a');
    for (const way of [`/dev/fd/${fd}`, `/proc/self/fd/${fd}`]) {
      const writer = await openRejects(way, SIGNAL);
      await writer.write([{ line: 2, reason: 'r', raw: 'x' }]);
      await writer.finish();
      await writer.close();
      await (await openRejects(way, SIGNAL)).close();
      // Still open.
      writeSync(fd, 'new\n');
      expected += 'line,reason,row\n2,"r","x"\nnew\n';
      expect(readFileSync(log, 'utf8')).toBe(expected);
    }
    closeSync(fd);
    expect(statSync(log).ino).toBe(ino);
  });

  test('is not put through a descriptor that is closed, or of the file that is read', async () => {
    const source = fileWith('read.csv', 'nif,legal_name\n');
    const fd = openSync(source, 'r');
    expect(await refusal(openRejects(`/dev/fd/${fd}`, SIGNAL, source))).toBe(
      `/dev/fd/${fd}: is the file that is read: write to another`,
    );
    closeSync(fd);
    expect(await refusal(openRejects('/dev/fd/999999', SIGNAL))).toBe('/dev/fd/999999: is not open');
  });

  test('is refused where it cannot be, in one line', async () => {
    const source = fileWith('source.csv', 'nif,legal_name\n');
    symlinkSync(source, join(folder, 'same.csv'));
    mkdirSync(join(folder, 'taken'), { recursive: true });
    const refusalOf = (name: string) => refusal(openRejects(join(folder, name), SIGNAL, source));
    const same = 'is the file that is read: write to another';
    expect(await refusalOf('source.csv')).toBe(`source.csv: ${same}`);
    expect(await refusalOf('same.csv')).toBe(`same.csv: ${same}`);
    expect(await refusalOf('taken')).toBe('taken: is a directory, not a file');
    for (const missing of ['absent', 'source.csv']) {
      expect(await refusalOf(`${missing}/rejects.csv`)).toBe(
        `${missing}/rejects.csv: there is no folder ${join(folder, missing)}: make it first`,
      );
    }
    if (process.getuid?.() !== 0) {
      mkdirSync(join(folder, 'locked'), { recursive: true });
      chmodSync(join(folder, 'locked'), 0o500);
      expect(await refusalOf('locked/rejects.csv')).toBe('locked/rejects.csv: permission denied');
    }
  });
});

describe('a row in the file of rejects', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "' =1"],
    ['\rx', "' x"],
    ['  =1', "'  =1"],
    ['\u0000=1', "' =1"],
    ['＝1', "'＝1"],
    ["500;=cmd|' /C calc'!A0", "500;'=cmd|' /C calc'!A0"],
    ['500;"=1+1"', '500;"\'=1+1"'],
    ['500;-1+cmd', "500;'-1+cmd"],
    ['500;-1;2', '500;-1;2'],
    ['500;5;-1.5', '500;5;-1.5'],
    ['500,-1,2', '500,-1,2'],
    ['500;A - B', '500;A - B'],
  ])('%j is written as %j: no spreadsheet takes it for a formula', async (raw, cell) => {
    expect(await cellOf(raw)).toBe(cell);
  });

  test('has no terminal escapes, line breaks or reversed text', async () => {
    expect(await cellOf('1,\u001b]0;pwned\u0007\u009b2J\u202eabc\u2066\r\n2\u2028x\u007f')).toBe(
      '1, ]0;pwned  2J abc   2 x ',
    );
  });

  test('is one line of CSV with one harmless cell, whatever it was', async () => {
    const unit = fc.constantFrom(
      ...'=+-@\t\r\n"\';|, ax1',
      '\u001b',
      '\u0000',
      '\ud800',
      '\u202e',
      '＝',
      'é',
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ unit, maxLength: 40 }), async (raw) => {
        const cell = await cellOf(raw);
        expect(cell).not.toMatch(
          /^[\s]*[=+\-@＝]|[\p{Cc}\u202e\ufffd]{0}[\u0000-\u001f\u007f-\u009f\u202e]/u,
        );
        expect(cell).not.toMatch(/[;|]["'\s]*(?<!')[=@＝]/u);
      }),
      { numRuns: 500 },
    );
  });

  test('is cut at 1,000 characters', async () => {
    expect(await cellOf('x'.repeat(70_000))).toBe('x'.repeat(1_000));
    expect(await cellOf(`x${'\u{1f600}'.repeat(700)}`)).toBe(`x${'\u{1f600}'.repeat(499)}\ufffd`);
  });
});
