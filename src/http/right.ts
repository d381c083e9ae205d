/** The rights of a key, by which its routes and tools are named. A key that has only some of them is closed to all that come later. */
export const RIGHTS = [
  'search',
  'matches',
  'resolve',
  'lookup',
  'debts',
  'changes',
  'usage',
  'datasets',
  'activity',
] as const;
export type Right = (typeof RIGHTS)[number];
