/** The files that commands write: whole or not at all, for their owner alone, and cells that are safe for spreadsheets. */
import { beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { csvCell } from '../../../src/platform/csv-cell.ts';
import { openOutputFile } from '../../../src/platform/terminal/output-file.ts';
import { createFolder } from '../../support/folder.ts';

const SIGNAL = new AbortController().signal;
const parent = createFolder('output');
let folder: string;
let tests = 0;
beforeEach(() => {
  folder = join(parent, String(tests++));
  mkdirSync(folder);
});

function fileWith(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}
const unfinished = () => readdirSync(folder).filter((name) => name.endsWith('.tmp'));

async function write(path: string, text = 'new'): Promise<void> {
  const file = await openOutputFile(path, SIGNAL);
  await file.append(text);
  await file.finish();
  await file.close();
}

test('a file appears whole or not at all, and replaces the one before only then', async () => {
  const path = fileWith('before.csv', 'before');
  const file = await openOutputFile(path, SIGNAL);
  await file.append('x'.repeat(1_000));
  expect(readFileSync(path, 'utf8')).toBe('before');
  await file.close();
  expect([readFileSync(path, 'utf8'), unfinished()]).toEqual(['before', []]);
  await write(path);
  expect([readFileSync(path, 'utf8'), unfinished()]).toEqual(['new', []]);
});

test('the file of a killed command is removed by the next one that writes there; of one that runs it is not', async () => {
  const path = join(folder, 'killed.csv');
  const module = join(import.meta.dir, '../../../src/platform/terminal/output-file.ts');
  const script = fileWith(
    'open.ts',
    `import { openOutputFile } from ${JSON.stringify(module)};
    const file = await openOutputFile(process.argv[2]!, new AbortController().signal);
    console.log('open');
    await Bun.stdin.text();
    await file.finish();
    await file.close();`,
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

  const ours = await openOutputFile(path, SIGNAL);
  expect(unfinished()).toHaveLength(3);
  await ours.finish();
  await ours.close();
  running.stdin.end();
  expect(await running.exited).toBe(0);
  expect(unfinished()).toEqual(['.killed.csv.not-ours.tmp']);
});

test('the file of many commands at once is whole: none takes the file of another for a leftover', async () => {
  const path = join(folder, 'at-once.csv');
  for (let round = 0; round < 20; round++) {
    const files = await Promise.all(Array.from({ length: 20 }, () => openOutputFile(path, SIGNAL)));
    await Promise.all(files.map((file) => file.finish().then(file.close)));
  }
  expect([existsSync(path), unfinished()]).toEqual([true, []]);
});

test('a file is for its owner alone, and as strict as the one that it replaces', async () => {
  const modeOf = async (path: string) => {
    const file = await openOutputFile(path, SIGNAL);
    expect(statSync(join(folder, unfinished()[0]!)).mode & 0o077).toBe(0);
    await file.finish();
    await file.close();
    return (statSync(path).mode & 0o777).toString(8);
  };
  const umask = process.umask(0);
  try {
    expect(await modeOf(join(folder, 'new.csv'))).toBe('600');
    for (const [before, after] of [
      [0o666, '600'],
      [0o640, '600'],
      [0o400, '400'],
    ] as const) {
      const path = fileWith(`mode-${before}.csv`, 'before');
      chmodSync(path, before);
      const link = join(folder, `link-${before}.csv`);
      symlinkSync(path, link);
      expect([await modeOf(link), readlinkSync(link)]).toEqual([after, path]);
    }
  } finally {
    process.umask(umask);
  }
});

test('a device is written as it is, and the file behind a descriptor is appended to, neither emptied nor replaced', async () => {
  await write('/dev/null');
  await (await openOutputFile('/dev/null', SIGNAL)).close();
  expect((await Bun.file('/dev/null').stat()).isCharacterDevice()).toBe(true);

  const log = fileWith('run.log', 'old\n');
  const { ino } = statSync(log);
  const fd = openSync(log, 'a');
  for (const way of [`/dev/fd/${fd}`, `/proc/self/fd/${fd}`]) {
    await write(way, 'ours\n');
    await (await openOutputFile(way, SIGNAL)).close();
    // Still open.
    writeSync(fd, 'theirs\n');
  }
  closeSync(fd);
  expect([readFileSync(log, 'utf8'), statSync(log).ino]).toEqual([`old\n${'ours\ntheirs\n'.repeat(2)}`, ino]);
});

test('a file that can not be written is refused in one line', async () => {
  const source = fileWith('source.csv', 'nif,legal_name\n');
  symlinkSync(source, join(folder, 'same.csv'));
  mkdirSync(join(folder, 'taken'));
  mkdirSync(join(folder, 'locked'));
  chmodSync(join(folder, 'locked'), 0o500);
  const fd = openSync(source, 'r');
  const same = 'is the file that is read: write to another';
  const missing = (name: string) => `there is no folder ${join(folder, name)}: make it first`;
  for (const [path, message] of [
    [source, same],
    [join(folder, 'same.csv'), same],
    [`/dev/fd/${fd}`, same],
    ['/dev/fd/999999', 'is not open'],
    [join(folder, 'taken'), 'is a directory, not a file'],
    [join(folder, 'absent/rejects.csv'), missing('absent')],
    [join(folder, 'source.csv/rejects.csv'), missing('source.csv')],
    ...(process.getuid?.() === 0 ? [] : [[join(folder, 'locked/rejects.csv'), 'permission denied'] as const]),
  ] as const) {
    const refused = await openOutputFile(path, SIGNAL, source).catch(({ message }) => message);
    expect(refused).toBe(`${path}: ${message}`);
  }
  closeSync(fd);
});

describe('a cell of CSV', () => {
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
    ['500;"=1+1"', '500;""\'=1+1""'],
    ['500;-1+cmd', "500;'-1+cmd"],
    ['500;-1;2', '500;-1;2'],
    ['500;5;-1.5', '500;5;-1.5'],
    ['500,-1,2', '500,-1,2'],
    ['500;A - B', '500;A - B'],
    ['1,\u001b]0;pwned\u0007\u009b2J\u202eabc\u2066\r\n2\u2028x\u007f', '1, ]0;pwned  2J abc   2 x '],
    ['\ud800', '\ufffd'],
  ])('%j is written as %j: no spreadsheet takes it for a formula, no terminal for a command', (raw, cell) => {
    expect(csvCell(raw)).toBe(`"${cell}"`);
  });

  test('is one harmless cell of one line, whatever it was', () => {
    const unit = fc.constantFrom(...'=+-@\t\r\n"\';|, ax1\u001b\u0000\u202e＝é', '\ud800');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (raw) => {
        const cell = csvCell(raw);
        expect(cell).toMatch(/^"(?:[^"]|"")*"$/);
        const text = cell.slice(1, -1).replaceAll('""', '"');
        expect(text).not.toMatch(/^\s*[=+\-@＝]|[\u0000-\u001f\u007f-\u009f\u202e]/u);
        expect(text).not.toMatch(/[;|]["'\s]*(?<!')[=@＝]/u);
      }),
      { numRuns: 2_000 },
    );
  });
});
