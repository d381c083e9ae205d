import { describe, expect, test } from 'bun:test';
import { cleanName, normalizeName } from '../../src/companies/name.ts';
import { isValidNif } from '../../src/companies/nif.ts';
import { exampleCompanies } from './example-names.ts';

describe('the example directory', () => {
  const companies = exampleCompanies();

  test('holds a few hundred companies, each with another valid NIF', () => {
    expect(companies.length).toBeGreaterThan(500);
    expect(companies.filter(({ nif }) => !isValidNif(nif))).toEqual([]);
    expect(new Set(companies.map(({ nif }) => nif)).size).toBe(companies.length);
  });

  test('holds nobody: no NIF of a natural person', () => {
    expect(companies.filter(({ nif }) => /^[1-4]/.test(nif))).toEqual([]);
  });

  test('has clean names that normalize to something, and several that begin alike', () => {
    expect(companies.filter(({ legalName }) => cleanName(legalName) !== legalName)).toEqual([]);
    const prefixes = new Map<string, number>();
    for (const { legalName } of companies) {
      const normalized = normalizeName(legalName);
      expect(normalized).not.toBe('');
      const prefix = normalized.slice(0, 5);
      prefixes.set(prefix, (prefixes.get(prefix) ?? 0) + 1);
    }
    expect(Math.max(...prefixes.values())).toBeGreaterThan(20);
  });
});
