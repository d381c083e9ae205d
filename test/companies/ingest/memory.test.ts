/** Reads files larger than the memory that is allowed for it, each in a separate process, to see that one's peak. */
import { describe, expect, test } from 'bun:test';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ReadOptions } from '../../../src/companies/ingest/open-rows.ts';
import { fileWith, removeFilesAfterwards } from './reading.ts';

removeFilesAfterwards();

const MIB = 1024 * 1024;
const PEAK_LIMIT_MIB = 150;

/** Its peak is not `maxRSS` on Linux: a child begins with its parent's. */
const READ = `
  import { readFileSync } from 'node:fs';
  import { openRows } from '../../../src/companies/ingest/open-rows.ts';
  const [path, options] = process.argv.slice(1);
  let [rows, rejected] = [0, 0];
  const { batches } = await openRows({ path }, ['nif', 'legal_name'], JSON.parse(options));
  for await (const batch of batches) [rows, rejected] = [rows + batch.rows.length, rejected + batch.rejected.length];
  const peakKib = process.platform === 'linux'
    ? Number(/^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1])
    : process.resourceUsage().maxRSS / 1024;
  console.log(JSON.stringify({ rows, rejected, peakMib: peakKib / 1024 }));`;

/** Reads a file in another process, and checks its peak. @returns rows and rejects */
async function readElsewhere(path: string, options: ReadOptions = {}): Promise<[number, number]> {
  const child = Bun.spawn([process.execPath, '-e', READ, path, JSON.stringify(options)], {
    cwd: import.meta.dir,
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { rows, rejected, peakMib } = JSON.parse(await child.stdout.text());
  expect(peakMib).toBeWithin(10, PEAK_LIMIT_MIB);
  return [rows, rejected];
}

/** Packs what a generator yields into a file. */
async function packedFile(name: string, pieces: () => Generator<Buffer>): Promise<string> {
  const path = fileWith(name, '');
  await pipeline(Readable.from(pieces()), createGzip({ level: 1 }), createWriteStream(path));
  return path;
}

function* repeated(times: number, rows: string, header = ''): Generator<Buffer> {
  yield Buffer.from(header);
  const bytes = Buffer.from(rows);
  for (let i = 0; i < times; i++) yield bytes;
}
const rowsOf = (count: number, rowOf: (nif: number, name: string) => string) =>
  Array.from({ length: count }, (_, i) => rowOf(500_000_000 + i, `Construções ${i * 7919}, Lda`)).join('');

describe('memory stays flat', () => {
  test('for 4.5 million rows, packed', async () => {
    const rows = rowsOf(10_000, (nif, name) => `${nif},"${name}"\n`);
    const path = await packedFile('rows.csv.gz', () => repeated(450, rows, 'nif,legal_name\n'));
    expect(await readElsewhere(path)).toEqual([4_500_000, 0]);
  });

  test('for a line of half a gigabyte in a bomb of a file, which costs that line alone', async () => {
    const path = await packedFile('bomb.csv.gz', function* () {
      yield* repeated(64, 'x'.repeat(8 * MIB), 'nif,legal_name\n1,a\n2,"');
      yield Buffer.from('\n3,c\n');
    });
    expect(await readElsewhere(path)).toEqual([2, 1]);
  });

  test('for JSON Lines of 900,000 objects', async () => {
    const others = { numContratos: 1, totValorContratIni: 1000.5, descPais: 'Portugal', AliasPais: 'PT' };
    const rows = rowsOf(1_000, (nif, name) => {
      const row = { nifEntidade: String(nif), desigEntidade: name, ...others };
      return `${JSON.stringify(row)}\n`;
    });
    const path = await packedFile('entities.jsonl.gz', () => repeated(900, rows));
    const sources = { nif: 'nifEntidade', legal_name: 'desigEntidade' };
    expect(await readElsewhere(path, { sources })).toEqual([900_000, 0]);
  });
});
