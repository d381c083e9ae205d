/**
 * The data of test keys, from world.json (docs/test-keys.md: companies). Nobody has these NIFs: companies get their numbers in order, from
 * 500 million on, and in 2026 below 520 million. The numbers up to 599 million are eight million NIFs, because the last digit is a check
 * digit. At some 50,000 new companies a year they last for over a century.
 */
import type { ProblemName } from '../../http/problems.ts';
import type { ActivityRow } from '../../metering/activity/activity-store.ts';
import type { Datasets } from '../datasets/datasets-store.ts';
import type { Change } from '../debts/changes/changes-store.ts';
import type { StoredCompany } from '../lookup/lookup-store.ts';
import { normalizeName } from '../name.ts';
import { normalizeNif, withoutCountry } from '../nif.ts';
import type { CompanyDetails } from '../sources/source-types.ts';
import file from './world.json' with { type: 'json' };

/** A problem that can be called up at will, or an answer that takes its time. */
export type AtWill = ProblemName | 'slow-answer';

interface World {
  problems: { kind: AtWill; nif: string }[];
  datasets: Datasets;
  companies: (Omit<StoredCompany, 'details' | 'fresh'> & { details: CompanyDetails })[];
  /** The activity of every test key's account, oldest first, numbered from `first` on. `call` is the last group of the call's id. */
  activity: {
    first: number;
    rows: (Pick<ActivityRow, 'at' | 'kind' | 'credits'> &
      Partial<Pick<ActivityRow, 'request' | 'endpoint' | 'status' | 'problem' | 'unlisted'>> & {
        call?: number;
      })[];
  };
  /** The imports of lists, oldest first. The changes of one are numbered from `first` on. */
  imports: (Pick<Change, 'kind' | 'date' | 'at'> & {
    first: number;
    changes: [Change['nif'], Change['before'], Change['after']][];
  })[];
}

const INSTANTS = ['updated', 'imported', 'at'];

export const WORLD: World = JSON.parse(JSON.stringify(file), (member, value) =>
  INSTANTS.includes(member) ? new Date(value) : value,
);

const KINDS = new Map(
  WORLD.problems.flatMap(({ kind, nif }) => [nif, normalizeName(kind)].map((text) => [text, kind])),
);

/** The problem that a NIF or a word calls up: each has a NIF, and its name is its word. */
export const calledUpBy = (text: string) =>
  KINDS.get(normalizeNif(withoutCountry(text)) ?? normalizeName(text));
