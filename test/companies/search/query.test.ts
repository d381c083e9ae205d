import { describe, expect, test } from 'bun:test';
import { parseQuery } from '../../../src/companies/search/search-query.ts';

describe('parseQuery', () => {
  test('nine digits in a run are a NIF, without regard to its check digit', () => {
    for (const q of [
      '509442013',
      ' 509 442 013 ',
      '509.442-013',
      'NIF 509442013',
      '509\u00a0442\u00a0013 lda',
      '5-0 9.4 -. 4\t2\u00a00 1 3',
      '\u202bPT509442013\u202c, Lisboa',
    ]) {
      expect(parseQuery(q)).toEqual({ kind: 'nif', nif: '509442013' });
    }
    expect(parseQuery('509442010')).toEqual({ kind: 'nif', nif: '509442010' });
    expect(parseQuery('123 e 509442013')).toEqual({ kind: 'nif', nif: '509442013' });
  });

  test('more or fewer digits in a run are part of a name', () => {
    expect(parseQuery('5094420131')).toEqual({ kind: 'name', normalized: '5094420131' });
    expect(parseQuery('50944201')).toEqual({ kind: 'name', normalized: '50944201' });
    expect(parseQuery('٥٠٩٤٤٢٠١٣').kind).toBe('name');
    expect(parseQuery('509/442/013')).toEqual({ kind: 'name', normalized: '509 442 013' });
  });

  test('a name is normalized', () => {
    expect(parseQuery('  Ábaco & Filhos, Lda. ')).toEqual({ kind: 'name', normalized: 'abaco filhos' });
    expect(parseQuery('abaco, lim')).toEqual({ kind: 'name', normalized: 'abaco lim' });
  });

  test('what no name can begin with is nothing', () => {
    for (const q of ['***', '\u0301', '\u0000', '\ud800', '\ufdfa'.repeat(501)]) {
      expect(parseQuery(q)).toEqual({ kind: 'nothing' });
    }
    // The longest that a name can become.
    expect(parseQuery('\ufdfa'.repeat(500)).kind).toBe('name');
  });
});
