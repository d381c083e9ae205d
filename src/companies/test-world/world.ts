/** The data of test keys, from world.json: docs/test-keys.md shows it and says why nobody has these NIFs. */
import type { ProblemName } from '../../http/problems.ts';
import type { Debts } from '../debts/bracket.ts';
import type { Change } from '../debts/changes/store.ts';
import { DEBT_KINDS, type DebtKind } from '../debts/kind.ts';
import type { StoredCompany } from '../lookup/store.ts';
import { normalizeName } from '../name.ts';
import { normalizeNif } from '../nif.ts';
import type { CompanyDetails, SourceName } from '../sources/types.ts';
import file from './world.json' with { type: 'json' };

/** A problem that can be called up at will, or an answer that takes its time. */
export type AtWill = ProblemName | 'slow-answer';

type Amounts = [start: number, end: number | null];

/** The import of a list: its changes are numbered from `first` on. */
interface ListImport {
  kind: DebtKind;
  date: string;
  at: string;
  first: number;
  changes: [nif: string, before: Amounts | null, after: Amounts | null][];
}

interface WorldFile {
  problems: { kind: AtWill; nif: string }[];
  directory: { updated: string };
  companies: { nif: string; source: SourceName; fetchedAt: string; details: CompanyDetails }[];
  /** Oldest first. */
  imports: ListImport[];
}

export const {
  problems: PROBLEMS_AT_WILL,
  directory: DIRECTORY,
  companies,
  imports,
} = file as unknown as WorldFile;

const KINDS = new Map(
  PROBLEMS_AT_WILL.flatMap(({ kind, nif }): [string, AtWill][] => [
    [nif, kind],
    [normalizeName(kind), kind],
  ]),
);

/** The problem that a NIF or a word calls up: each has a NIF, and its name is its word. `null` means none. */
export function calledUpBy(text: string): AtWill | null {
  return KINDS.get(normalizeNif(text) ?? normalizeName(text)) ?? null;
}

const bracketOf = (amounts: Amounts | null) => amounts && { start: amounts[0], end: amounts[1] };

/** Every change of the feed, oldest first. */
export const CHANGES: Change[] = imports.flatMap(({ kind, date, at, first, changes }) =>
  changes.map(([nif, before, after], index) => ({
    ...{ number: first + index, at: new Date(at), kind, nif, date },
    before: bracketOf(before),
    after: bracketOf(after),
  })),
);

/** The lists as the last change of each company left them. */
export const DATES = Object.fromEntries(
  DEBT_KINDS.map((kind) => [kind, imports.findLast((one) => one.kind === kind)!.date]),
) as Record<DebtKind, string>;

export const DEBTS = new Map<string, Debts>();
for (const { nif, kind, after } of CHANGES) {
  const { [kind]: _, ...others } = DEBTS.get(nif) ?? {};
  DEBTS.set(nif, after === null ? others : { ...others, [kind]: { ...after, last_updated: DATES[kind] } });
}

/** Every company, by NIF. */
export const COMPANIES: ReadonlyMap<string, StoredCompany> = new Map(
  companies.map(({ details, ...company }) => [
    company.nif,
    { ...company, details: JSON.stringify(details), fresh: true, debts: DEBTS.get(company.nif) ?? {} },
  ]),
);

/** The names of the directory, by NIF. */
export const NAMES: [nif: string, legalName: string][] = companies.map(({ nif, details }) => [
  nif,
  details.title,
]);
