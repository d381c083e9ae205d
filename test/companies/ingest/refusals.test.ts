import { describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { WINDOW_BYTES } from '../../../src/companies/ingest/lines.ts';
import { openRows } from '../../../src/companies/ingest/open-rows.ts';
import { until } from '../../support/until.ts';
import {
  DIRECTORY,
  fileWith,
  folder,
  readAll,
  refusal,
  removeFilesAfterwards,
  streamOf,
  valuesOf,
} from './reading.ts';

removeFilesAfterwards();

const HEADER = 'nif,legal_name\n';
const MANY_ROWS = Array.from(
  { length: 50_000 },
  (_, i) => `${500_000_000 + i},"Company ${i * 7919}, Lda"\n`,
).join('');

async function allOf({ batches }: Awaited<ReturnType<typeof openRows>>): Promise<void> {
  for await (const _ of batches);
}

function refusalOf(name: string, content: string | Uint8Array): Promise<string> {
  return refusal(readAll({ path: fileWith(name, content) }));
}

describe('a file that cannot be used is refused in one line', () => {
  test('missing, or a directory', async () => {
    fileWith('there.csv', HEADER);
    mkdirSync(join(folder, 'folder.csv'), { recursive: true });
    for (const [name, message] of [
      ['absent.csv', 'absent.csv: no such file'],
      ['two\nlines.csv', 'two lines.csv: no such file'],
      ['there.csv/absent.csv', 'there.csv/absent.csv: no such file'],
      ['folder.csv', 'folder.csv: is a directory, not a file'],
    ] as const)
      expect(await refusal(readAll({ path: join(folder, name) }))).toBe(message);
  });

  test('empty, packed or not, on standard input too', async () => {
    for (const content of ['', '\ufeff', '\n\r\n  \n']) {
      expect(await refusalOf('none.csv', content)).toBe('none.csv: is empty');
      expect(await refusalOf('none.jsonl.gz', gzipSync(content))).toBe('none.jsonl.gz: is empty');
      expect(await refusal(readAll({ stdin: streamOf(content, [1]) }))).toBe('standard input: is empty');
    }
  });

  test('a header that lacks columns: what is there, what is expected, and the likely reason', async () => {
    const found = (names: string, lacking = 'nif, legal_name') =>
      `a.csv: the header has no column ${lacking}; found ${names}; expected nif, legal_name, separated by commas, semicolons or tabs`;
    const say = ': say which it is, for instance --columns ';
    for (const [content, message] of [
      ['nif|legal_name\n1|a\n', found('"nif|legal_name"')],
      [
        'nif,legal_name\r1,a\r2,b\r',
        `${found('"nif", "legal_name\\r1", "a\\r2", "b"', 'legal_name')} (lines end in CR alone: convert them to LF)`,
      ],
      [
        '500002576,Foo\n',
        `${found('"500002576", "Foo"')} (its first line is a row: put the names of the columns before it)`,
      ],
      ['NIPC;Designação\n', `${found('"NIPC", "Designação"')}${say}'nif=NIPC,legal_name=Designação'`],
      [
        'Data;NIF das Entidades;Designação da Entidade\n',
        `${found('"Data", "NIF das Entidades", "Designação da Entidade"')}${say}'nif=NIF das Entidades,legal_name=Designação da Entidade'`,
      ],
      ['a\tb\n', `${found('"a", "b"')}${say}nif=NAME,legal_name=NAME`],
    ] as const)
      expect(await refusalOf('a.csv', content)).toBe(message);
    const wide = Array.from({ length: 3_000 }, (_, i) => `column ${i}`).join(',');
    expect((await refusalOf('a.csv', `${wide}\n`)).length).toBeLessThan(600);
    const named = { path: fileWith('a.csv', 'nif,nome\n') };
    const message = await refusal(readAll(named, DIRECTORY, { sources: { legal_name: 'name' } }));
    expect(message).toStartWith(
      'a.csv: the header has no column name; found "nif", "nome"; expected nif, name,',
    );
    expect(message).toEndWith('--columns legal_name=nome');
  });

  test('a header with a column twice, too long, or with quotes that make no sense', async () => {
    expect(await refusalOf('a.csv', 'nif,legal_name,NIF\n')).toBe(
      'a.csv: the header has the column nif twice',
    );
    for (const long of ['x'.repeat(70_000), 'x'.repeat(2_000_000), `"${'x'.repeat(70_000)}"`]) {
      expect(await refusalOf('a.csv', `nif,legal_name,${long}\n`)).toBe(
        "a.csv: the header can't be read: it is over 64 KiB",
      );
    }
    expect(await refusalOf('a.csv', 'nif,"legal_name\n1,a\n')).toBe(
      "a.csv: the header can't be read: quote not closed",
    );
  });

  test('of another encoding, with the line', async () => {
    const latin = (text: string) => Buffer.from(text, 'latin1');
    for (const [bytes, line] of [
      [latin(`${HEADER}1,a\n2,"b\nc"\n3,Café\n`), 5],
      [latin('nif,legal_name,região\n'), 1],
      [Buffer.concat([Buffer.from(HEADER + MANY_ROWS), latin('1,é\n')]), 50_002],
      [Buffer.from([...Buffer.from(`${HEADER}1,`), 0xe2, 0x82]), 2],
      [latin('{"nif":"1","legal_name":"Café"}'), 1],
    ] as const) {
      const remedy = 'convert the file, for instance with iconv -f WINDOWS-1252 -t UTF-8';
      const refused = await refusalOf('a.csv.gz', gzipSync(bytes));
      expect(refused).toBe(`a.csv.gz: line ${line} is not UTF-8: ${remedy}`);
      expect(await refusalOf('a.csv', bytes)).toBe(refused.replace('.gz', ''));
    }
    const utf16 = Buffer.from(`\ufeff${HEADER}`, 'utf16le');
    for (const bytes of [utf16, Buffer.from(utf16).swap16(), Buffer.from(HEADER, 'utf16le')])
      expect(await refusalOf('a.csv', bytes)).toBe(
        'a.csv: is UTF-16, not UTF-8: convert it with iconv -f UTF-16 -t UTF-8',
      );
  });

  test('gzip that is cut off, damaged, followed by something else, or none', async () => {
    const twoWindows = MANY_ROWS.slice(0, MANY_ROWS.indexOf('\n', 2 * WINDOW_BYTES) + 1);
    const packed = gzipSync(HEADER + twoWindows);
    const cut = 'the gzip data ends in the middle: it was cut off';
    for (const length of [2, 10, 11, 500, packed.length >> 1, packed.length - 1]) {
      expect(await refusalOf('a.csv.gz', packed.subarray(0, length))).toBe(`a.csv.gz: ${cut}`);
      expect(await refusal(readAll({ stdin: streamOf(packed.subarray(0, length), [1_000]) }))).toBe(
        `standard input: ${cut}`,
      );
    }
    const badSum = Buffer.from(packed);
    badSum[badSum.length - 6]! ^= 1;
    expect(await refusalOf('a.csv.gz', badSum)).toBe('a.csv.gz: the gzip data is damaged');
    for (let at = 2; at < packed.length; at += Math.ceil(packed.length / 50)) {
      const bad = Buffer.from(packed);
      bad[at]! ^= 0xff;
      // Some bytes of a gzip header (time, system) mean nothing; whatever is damaged else is noticed.
      if (at >= 10) expect(await refusalOf('a.csv.gz', bad)).toMatch(/damaged|cut off|not UTF-8|header/);
    }
    const trailing = Buffer.concat([packed, Buffer.from('more')]);
    expect(await refusalOf('a.csv.gz', trailing)).toBe('a.csv.gz: the gzip data is damaged');
  });

  test('members under other names, and those that no object has', async () => {
    expect(await refusalOf('a.jsonl', '{"nipc":1,"firma":"a","deep":{"est":2}}\n')).toBe(
      'a.jsonl: no object has a member nif, legal_name; the first has "nipc", "firma", "deep.est"' +
        ': say which it is, for instance --columns nif=nipc,legal_name=firma',
    );
    expect(await refusalOf('a.jsonl', '{"nif":1}\n{"nif":2}')).toBe(
      'a.jsonl: no object has a member legal_name; the first has "nif"' +
        ': say which it is, for instance --columns legal_name=NAME',
    );
    expect(await refusalOf('a.jsonl', '{}\n{}')).toBe(
      'a.jsonl: no object has a member nif, legal_name; the first has none',
    );
  });

  test('a spreadsheet, an archive, a PDF or a page, by whatever name, with what to do', async () => {
    const zip = (name: string) => `PK\x03\x04\x14\0\0\0\b\0${'\0'.repeat(20)}${name}`;
    const office =
      'is an Excel workbook or another office file: save the sheet as "CSV UTF-8", or convert it with';
    const packed = 'is packed, but not with gzip: unpack it, or give it to standard input (bzcat, ';
    const page = 'is an HTML page or XML: get the data as CSV or JSON Lines';
    const cases: [string, string][] = [
      [zip('[Content_Types].xml'), office],
      [zip('docProps/app.xml') + zip('xl/workbook.xml'), office],
      [zip('mimetypeapplication/vnd.oasis.opendocument.spreadsheet'), office],
      ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0', office],
      [
        zip('contratos2026.json'),
        'is a ZIP archive: unpack it, or give the one file in it to standard input (unzip -p)',
      ],
      ['BZh91AY&SY', packed],
      ['\xfd7zXZ\0\0\x04', packed],
      ['\x28\xb5\x2f\xfd\x04\x58', packed],
      ['7z\xbc\xaf\x27\x1c', packed],
      ['\xff\xfen\0i\0', 'is UTF-16, not UTF-8: convert it with iconv -f UTF-16 -t UTF-8'],
      ['%PDF-1.7\n%\xe2\xe3', 'is a PDF, which has no rows: get the same data as CSV or JSON Lines'],
      ['\n<!DOCTYPE html><html>', page],
      ['\xef\xbb\xbf<html lang="pt">', page],
      ['<?xml version="1.0"?>', page],
    ];
    for (const [content, message] of cases) {
      const bytes = Buffer.from(content, 'latin1');
      expect(await refusalOf('a.csv', bytes)).toStartWith(`a.csv: ${message}`);
      expect(await refusalOf('a.csv.gz', gzipSync(bytes))).toStartWith(`a.csv.gz: ${message}`);
      expect(await refusal(readAll({ stdin: streamOf(bytes, [3]) }))).toStartWith(
        `standard input: ${message}`,
      );
    }
    expect(await refusalOf('a.csv.gz', gzipSync(gzipSync(HEADER)))).toBe(
      'a.csv.gz: is packed with gzip twice: unpack it once (gunzip)',
    );
  });

  test('a JSON document, with the command that makes JSON Lines of it', async () => {
    const list = '[{"nif":1,"legal_name":"a"}]';
    const indented = JSON.stringify({ rows: JSON.parse(list) }, null, 2);
    const much = `{"rows":[${list.slice(1, -1)},`.padEnd(2 * WINDOW_BYTES);
    const advice = (lines: string, command = 'companies import') =>
      `is a JSON document: make JSON Lines of it: ${lines} | bun directory ${command} - … ` +
      "('.NAME[]' for a list that is a member)";
    for (const content of [list, `\ufeff\n ${list}`, indented, indented.replaceAll('\n', '\r\n'), much]) {
      const path = fileWith('a.csv', content);
      expect(await refusalOf('a.csv', content)).toBe(`a.csv: ${advice(`jq -c '.[]' ${path}`)}`);
      const stdin = streamOf(content, [1_000]);
      expect(await refusal(readAll({ stdin }, DIRECTORY, { command: 'debts import' }))).toBe(
        `standard input: ${advice("jq -c '.[]' FILE", 'debts import')}`,
      );
    }
    const packed = fileWith("it's.JSON.gz", '');
    expect(await refusalOf("it's.JSON.gz", gzipSync(list))).toBe(
      `it's.JSON.gz: ${advice(`zcat '${packed.replace("'", `'\\''`)}' | jq -c '.[]'`)}`,
    );
    const [line] = JSON.parse(list);
    const lines = `\ufeff\n ${JSON.stringify({ ...line, more: [{}] })} \r\n${JSON.stringify(line)}`;
    expect(await valuesOf(readAll({ stdin: streamOf(lines, [9]) }))).toHaveLength(2);
  });
});

test('the last row of standard input may break off, as in a file: what of it can not be used is rejected, the rest goes in', async () => {
  const first = ['1', 'a'];
  for (const [content, rows, rejected] of [
    [`${HEADER}1,a\n2`, [first, ['2', null]], 0],
    [`${HEADER}1,a\n2,"b, `, [first], 1],
    ['{"nif":"1","legal_name":"a"}\n{"nif":"2","legal', [first], 1],
    [`${HEADER}1,a\n2,b`, [first, ['2', 'b']], 0],
    [`${HEADER}1,a\n2,"b"`, [first, ['2', 'b']], 0],
    [`${HEADER}1,a\n2,b\n  `, [first, ['2', 'b']], 0],
    [`${HEADER}1,a\n  `, [first], 0],
  ] as const) {
    const read = await readAll({ stdin: streamOf(content, [5]) });
    expect([read.rows.map(({ values }) => values), read.rejected.length]).toEqual([rows as never, rejected]);
  }
});

describe('standard input is refused', () => {
  test('when it is a directory, or closed', async () => {
    const script = `import { openRows } from '../../../src/companies/ingest/open-rows.ts';
      openRows({ stdin: Bun.stdin.stream() }, ['nif']).catch((error) => console.log(error.message));`;
    const shell = (input: string) => {
      const words = ['sh', '-c', `"$0" -e "$1" ${input}`, process.execPath, script];
      return Bun.spawnSync(words, { cwd: import.meta.dir })
        .stdout.toString()
        .trim();
    };
    expect(shell('< /')).toBe('standard input: is a directory, not a file');
    expect(shell('<&-')).toBe('standard input: is empty');
  });

  test('when reading fails', async () => {
    let pulls = 0;
    const stdin = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (pulls++ === 0) controller.enqueue(new TextEncoder().encode(`${HEADER}1,a\n`));
        else controller.error(new Error('connection lost\nand more'));
      },
    });
    expect(await refusal(readAll({ stdin }))).toBe('standard input: connection lost');
  });
});

describe('a file', () => {
  /** Of these tests. The process has other ones, of servers that come and go. */
  const openFiles = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
      } catch {
        return false;
      }
    }).length;

  test('tells how far it is read, packed bytes for gzip', async () => {
    const packed = gzipSync(HEADER + MANY_ROWS);
    for (const [name, content] of [
      ['progress.csv', Buffer.from(HEADER + MANY_ROWS)],
      ['progress.csv.gz', packed],
    ] as const) {
      const reader = await openRows({ path: fileWith(name, content) }, DIRECTORY);
      expect(reader.progress.bytesTotal).toBe(content.length);
      let before = 0;
      for await (const _ of reader.batches) {
        expect(reader.progress.bytesRead).toBeGreaterThanOrEqual(before);
        before = reader.progress.bytesRead;
      }
      expect(reader.progress.bytesRead).toBe(content.length);
    }
    const piped = await openRows({ stdin: streamOf(HEADER, [4]) }, DIRECTORY);
    expect(piped.progress).toEqual({ bytesRead: HEADER.length, bytesTotal: null });
    await piped.close();
  });

  /** Writes a file again as it is, and sets its time back, as `touch` does. Changes of one tick of the system have one `ctime`. */
  function overwrite(path: string): void {
    const changed = () => statSync(path, { bigint: true }).ctimeNs;
    const before = changed();
    while (changed() === before) {
      writeFileSync(path, readFileSync(path));
      utimesSync(path, 0, 0);
    }
  }

  test('that is cut, emptied or written while it is read is refused, packed or not, also at the same length', async () => {
    const changed = 'changed while it was read: write it under another name, and rename it when it is whole';
    const content = HEADER + MANY_ROWS;
    for (const [change, name] of [
      [(path: string) => truncateSync(path, 1_000_000), 'changed.csv'],
      [(path: string) => truncateSync(path), 'changed.csv'],
      [(path: string) => appendFileSync(path, '1,a\n'), 'changed.csv'],
      [overwrite, 'changed.csv'],
      [overwrite, 'changed.csv.gz'],
    ] as const) {
      const path = fileWith(name, name.endsWith('.gz') ? gzipSync(content, { level: 0 }) : content);
      utimesSync(path, 0, 0);
      const reader = await openRows({ path }, DIRECTORY);
      change(path);
      expect(await refusal(allOf(reader))).toBe(`${name}: ${changed}`);
    }
  });

  test('is closed at its end, on failure, and when its reader leaves early', async () => {
    const plain = fileWith('close.csv', HEADER + MANY_ROWS);
    const packed = fileWith('close.csv.gz', gzipSync(HEADER + MANY_ROWS));
    const damaged = fileWith('damaged.csv.gz', gzipSync(HEADER + MANY_ROWS).subarray(0, 50_000));
    for (let round = 0; round < 5; round++) {
      for (const path of [plain, packed]) {
        await readAll({ path });
        for await (const _ of (await openRows({ path }, DIRECTORY)).batches) break;
        await (await openRows({ path }, DIRECTORY)).close();
        await refusal(readAll({ path }, ['absent']));
      }
      await refusal(readAll({ path: damaged }));
    }
    // A stream that has failed closes its file by itself, soon.
    await until('the files are closed', () => openFiles() === 0);
  });

  test('that can not be opened stops with the reason of its signal, without an error that nothing handles', async () => {
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'socket');
    const socket = Bun.listen({ unix: path, socket: { data() {} } });
    const signal = AbortSignal.abort(new Error('interrupted'));
    await expect(openRows({ path }, DIRECTORY, { signal })).rejects.toThrow('interrupted');
    // The first attempt has ended when the second one has.
    await expect(openRows({ path }, DIRECTORY)).rejects.toThrow(path);
    socket.stop();
  });
});
