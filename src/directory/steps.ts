/**
 * The steps of a change of the directory, for progress. Their weights are the seconds that they took for 5 million companies on
 * two cores (docs/imports.md, What it takes); only their proportions matter.
 */
import type { Step } from '../terminal/progress.ts';

/** The phase after the change is in force, when it can't be interrupted any more. */
export const REMOVING = 'removing what is old';

const READ: Step[] = [
  { name: 'reading', weight: 29 },
  { name: 'comparing', weight: 5 },
];
const STORE: Step = { name: 'storing the rows', weight: 33 };
const INDEX: Step[] = [
  { name: 'indexing', weight: 160 },
  { name: 'merging the index', weight: 40 },
];
const CHECK: Step = { name: 'checking the index', weight: 2 };
const REMOVE: Step = { name: REMOVING, weight: 3 };
const IN_POSTGRES: Step = { name: 'indexing', weight: 40 };

export const DRY_RUN_STEPS: readonly Step[] = READ;

export function importSteps(isEmbedded: boolean): readonly Step[] {
  return isEmbedded ? [...READ, STORE, IN_POSTGRES, REMOVE] : [...READ, STORE, ...INDEX, CHECK, REMOVE];
}

/** @param renormalizes whether the names' normalization is of another version */
export function rebuildSteps(isEmbedded: boolean, renormalizes: boolean): readonly Step[] {
  const rows: Step[] = renormalizes
    ? [{ name: 'normalizing names again', weight: 60 }]
    : isEmbedded
      ? [{ name: 'copying the rows', weight: 29 }]
      : [];
  return isEmbedded ? [...rows, IN_POSTGRES, REMOVE] : [...rows, ...INDEX, CHECK, REMOVE];
}
