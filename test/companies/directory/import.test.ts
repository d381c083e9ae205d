import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { DirectoryReport } from '../../../src/companies/directory/directory-import.ts';
import { csv, nif } from '../../support/companies.ts';
import { MODES } from '../../support/modes.ts';
import { createWorkbench, indicesOf, tablesOf, type Workbench } from '../../support/workbench.ts';

const numbers = ({ read, imported, unchanged, rejected }: DirectoryReport) => ({
  read,
  imported,
  unchanged,
  rejected,
});

for (const mode of MODES) {
  describe(`companies import, ${mode}`, () => {
    let bench: Workbench;
    beforeEach(async () => {
      bench = await createWorkbench(mode);
    });
    afterEach(() => bench.close());

    test('what was imported is found, and the answer counts it', async () => {
      const report = await bench.importText(csv(0, 30));
      expect(numbers(report)).toEqual({ read: 30, imported: 30, unchanged: 0, rejected: 0 });
      expect(await bench.search('empresa')).toEqual(
        Array.from({ length: 20 }, (_, n) => `${nif(n)} Empresa ${String(n).padStart(6, '0')}`),
      );
      expect(await bench.search('empresa 00002')).toHaveLength(10);
      expect(await bench.status()).toEqual({
        index: report.index,
        previous: expect.any(String),
        documents: 30,
      });
    });

    test('rows are added and updated, and what stays as it is counts as unchanged', async () => {
      await bench.importText(csv(0, 100));
      const report = await bench.importText(
        csv(98, 103, (n) => (n === 99 ? 'Renomeada, Lda' : `Empresa ${String(n).padStart(6, '0')}`)),
      );
      expect(numbers(report)).toEqual({ read: 5, imported: 4, unchanged: 1, rejected: 0 });
      expect(await bench.search('renomeada')).toEqual([`${nif(99)} Renomeada, Lda`]);
      expect(await bench.search('empresa 000099')).toEqual([]);
      expect(await bench.search('empresa 000102')).toEqual([`${nif(102)} Empresa 000102`]);
      expect(await bench.status()).toMatchObject({ documents: 103 });
      expect(await bench.rows()).toHaveLength(103);
    });

    test('companies missing from a --replace file disappear', async () => {
      await bench.importText(csv(0, 100));
      const report = await bench.importText(
        csv(5, 100, (n) => (n === 6 ? 'Outra' : `Empresa ${String(n).padStart(6, '0')}`)),
        { replace: true },
      );
      expect(numbers(report)).toEqual({ read: 95, imported: 1, unchanged: 94, rejected: 0 });
      expect(report.removed).toBe(5);
      expect(await bench.search('empresa 00000')).toEqual([
        `${nif(5)} Empresa 000005`,
        `${nif(7)} Empresa 000007`,
        `${nif(8)} Empresa 000008`,
        `${nif(9)} Empresa 000009`,
      ]);
      expect(await bench.status()).toMatchObject({ documents: 95 });
      expect(await bench.rows()).toHaveLength(95);
    });

    test('the same file again builds nothing', async () => {
      const first = await bench.importText(csv(0, 50));
      const tables = await tablesOf(bench);
      const again = await bench.importText(csv(0, 50), { replace: true });
      expect(numbers(again)).toEqual({ read: 50, imported: 0, unchanged: 50, rejected: 0 });
      expect(again.index).toBe(first.index);
      expect(await tablesOf(bench)).toEqual(tables);
    });

    test('backslashes, quotes, escapes of COPY and JSON, and text beyond the BMP arrive as they are', async () => {
      const names = [
        'A\\tB \\N \\.',
        'Aspas "duplas"',
        '\\',
        'É 𝔘nicode 😀',
        '{"index":{}}',
        "'; DROP TABLE x; --",
      ];
      await bench.importText(csv(0, names.length, (n) => names[n]!));
      expect(await bench.rows()).toEqual(names.map((name, n) => `${nif(n)} ${name}`));
      expect(await bench.search('aspas')).toEqual([`${nif(1)} Aspas "duplas"`]);
    });

    test('only the current and the previous tables and indices stay', async () => {
      for (let n = 1; n <= 3; n++) await bench.importText(csv(0, 10, (i) => `Vez ${n} ${i}`));
      const { index, previous } = await bench.status();
      expect(await tablesOf(bench)).toHaveLength(2);
      if (mode === 'full') expect(await indicesOf(bench)).toEqual([index, previous!].toSorted());
      else expect(await tablesOf(bench)).toEqual([index, previous!].toSorted());
    });
  });
}

describe('companies import, with or without Elasticsearch', () => {
  let bench: Workbench;
  beforeEach(async () => {
    bench = await createWorkbench('postgres');
  });
  afterEach(() => bench.close());

  test('a --replace with under 90% of the present rows is refused unless --force', async () => {
    const { index } = await bench.importText(csv(0, 100));
    const before = await bench.rows();
    await expect(bench.importText(csv(0, 89), { replace: true })).rejects.toThrow(
      "the file has 89 usable rows, under 90% of the directory's 100: nothing has changed; --force replaces",
    );
    expect(await bench.rows()).toEqual(before);
    expect(await bench.status()).toMatchObject({ index, documents: 100 });

    await bench.importText(csv(0, 90), { replace: true });
    await bench.importText(csv(0, 2), { replace: true, force: true });
    expect(await bench.rows()).toHaveLength(2);
    expect(await bench.search('empresa')).toHaveLength(2);
  });

  test('of a NIF that comes again the last row counts, and the earlier ones are rejected with their lines', async () => {
    const rejects = bench.path('rejects.csv');
    const text = `nif,legal_name\n${nif(1)},Primeira\n${nif(2)},Duas\n"${nif(1)}",Segunda\n${nif(1)},Terceira\n`;
    const report = await bench.importText(text, { rejects });
    expect(numbers(report)).toEqual({ read: 4, imported: 2, unchanged: 0, rejected: 2 });
    expect(await bench.rows()).toEqual([`${nif(1)} Terceira`, `${nif(2)} Duas`]);
    expect((await Bun.file(rejects).text()).split('\n').toSorted()).toEqual([
      '',
      `2,"NIF comes again later in the file","${nif(1)},Primeira"`,
      `4,"NIF comes again later in the file","""${nif(1)}"",Segunda"`,
      'line,reason,row',
    ]);
  });

  test('rows that can not be used are rejected with their reason, and the rest goes in', async () => {
    const rejects = bench.path('rejects.csv');
    const rows = [
      `${nif(1)},Boa`,
      '12345678,Oito dígitos',
      `${Number(nif(2)) ^ 1},Dígito de controlo`,
      `${nif(3)},"   "`,
      `${nif(4)},${'x'.repeat(501)}`,
      `${nif(5)},${'😀'.repeat(500)}`,
      `${nif(6).replace(/(...)(...)(...)/, '$1 $2.$3')},Com separadores`,
      `PT${nif(7)},Com país`,
      `${nif(8)},"Com\ttabulador"`,
    ];
    const report = await bench.importText(`nif,legal_name\n${rows.join('\n')}\n`, { rejects });
    expect(numbers(report)).toEqual({ read: 9, imported: 5, unchanged: 0, rejected: 4 });
    expect(report.reasons).toEqual({
      'NIF is not nine digits': 1,
      'NIF has a wrong check digit': 1,
      'no name': 1,
      'name over 500 characters': 1,
    });
    const lines = (await Bun.file(rejects).text()).trimEnd().split('\n');
    expect(lines.map((line) => line.split(',')[0])).toEqual(['line', '3', '4', '5', '6']);
    expect(await bench.rows()).toEqual([
      `${nif(1)} Boa`,
      `${nif(5)} ${'😀'.repeat(500)}`,
      `${nif(6)} Com separadores`,
      `${nif(7)} Com país`,
      `${nif(8)} Com tabulador`,
    ]);
  });

  test('when every row is rejected, or there is none, nothing changes', async () => {
    await bench.importText(csv(0, 10));
    const rejects = bench.path('rejects.csv');
    await expect(
      bench.importText('nif,legal_name\n1,a\n2,b\n', { replace: true, force: true, rejects }),
    ).rejects.toThrow(
      'none of the 2 rows can be used (2 times: NIF is not nine digits): nothing has changed',
    );
    expect(await Bun.file(rejects).text()).toContain('3,"NIF is not nine digits","2,b"');
    await expect(bench.importText('nif,legal_name\n', { replace: true, force: true })).rejects.toThrow(
      'the file has no rows: nothing has changed',
    );
    expect(await bench.rows()).toHaveLength(10);
    expect(await bench.search('empresa')).toHaveLength(10);
  });

  test('--dry-run counts the same and changes nothing', async () => {
    await bench.importText(csv(0, 20));
    const before = await bench.status();
    const text = csv(1, 25, (n) => (n === 3 ? 'Nova' : `Empresa ${String(n).padStart(6, '0')}`));
    const tables = await tablesOf(bench);
    const dry = await bench.importText(text, { replace: true, dryRun: true });
    expect(await bench.status()).toEqual(before);
    expect(await tablesOf(bench)).toEqual(tables);
    expect(await bench.rows()).toHaveLength(20);
    expect(dry.index).toBe(before.index);
    const real = await bench.importText(text, { replace: true });
    expect(numbers(dry)).toEqual(numbers(real));
    expect(dry.removed).toBe(real.removed);
  });
});
