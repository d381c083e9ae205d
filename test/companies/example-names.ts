import { readFileSync } from 'node:fs';

/** The legal names of the example directory (examples/companies.csv). */
export function exampleNames(): string[] {
  return exampleCompanies().map((company) => company.legalName);
}

/** The rows of the example directory: plain CSV, quotes doubled, no line breaks inside fields. */
export function exampleCompanies(): { nif: string; legalName: string }[] {
  const text = readFileSync(new URL('../../examples/companies.csv', import.meta.url), 'utf8');
  const [header, ...lines] = text.trimEnd().split('\n');
  if (header !== 'nif,legal_name') throw new Error(`examples/companies.csv begins with ${header}`);
  return lines.map((line) => {
    const field = line.slice(10);
    const legalName = field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field;
    return { nif: line.slice(0, 9), legalName };
  });
}
