/** Reads files larger than the memory that is allowed for it, each in a separate process, to see that one's peak. */
import { describe, expect, test } from 'bun:test';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ReadOptions } from '../../../src/companies/ingest/open-rows.ts';
import { fileWith, folder, removeFilesAfterwards } from './reading.ts';

removeFilesAfterwards();

const MIB = 1024 * 1024;
const PEAK_LIMIT_MIB = 150;

/** Reads a file in another process, and checks its peak. @returns rows and rejects */
async function readElsewhere(path: string, options: ReadOptions = {}): Promise<[number, number]> {
  const script = join(import.meta.dir, 'read-in-process.ts');
  const child = Bun.spawn([process.execPath, script, path, JSON.stringify(options)], {
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
  await pipeline(Readable.from(pieces()), createGzip({ level: 1 }), createWriteStream(join(folder, name)));
  return path;
}

describe('memory stays flat', () => {
  const ROWS = Buffer.from(
    Array.from({ length: 10_000 }, (_, i) => `${500_000_000 + i},"Construções ${i * 7919}, Lda"\n`).join(''),
  );
  const ROW_BATCHES = 450;

  test('for 4.5 million rows, packed', async () => {
    const path = await packedFile('rows.csv.gz', function* () {
      yield Buffer.from('nif,legal_name\n');
      for (let i = 0; i < ROW_BATCHES; i++) yield ROWS;
    });
    expect(await readElsewhere(path)).toEqual([10_000 * ROW_BATCHES, 0]);
  });

  test('for a line of half a gigabyte in a bomb of a file, which costs that line alone', async () => {
    const path = await packedFile('bomb.csv.gz', function* () {
      yield Buffer.from('nif,legal_name\n1,a\n2,"');
      const much = Buffer.alloc(8 * MIB, 'x');
      for (let i = 0; i < 64; i++) yield much;
      yield Buffer.from('\n3,c\n');
    });
    expect(await readElsewhere(path)).toEqual([2, 1]);
  });

  const sources = { nif: 'nifEntidade', legal_name: 'desigEntidade' };
  const ENTITIES = Array.from(
    { length: 1_000 },
    (_, i) =>
      `${JSON.stringify({
        nifEntidade: String(500_000_000 + i),
        desigEntidade: `Construções ${i * 7919}, Lda`,
        numContratos: i,
        totAdjudicatario: i,
        totValorContratIni: i * 1000.5,
        totAdjudicante: 0,
        totAdjudicanteValorContratIni: 0,
        descPais: 'Portugal',
        AliasPais: 'PT',
      })}\n`,
  ).join('');

  test('for JSON Lines of 900,000 objects', async () => {
    const path = await packedFile('entities.jsonl.gz', function* () {
      for (let i = 0; i < 900; i++) yield Buffer.from(ENTITIES);
    });
    expect(await readElsewhere(path, { sources })).toEqual([900_000, 0]);
  });
});
