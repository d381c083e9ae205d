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

/**
 * Whether a key may call a route.
 * @param only the key's rights; `null` means all
 * @param right the route's; `null` means that it is open to every key
 */
export const permits = (only: Right[] | null, right: Right | null): boolean =>
  only === null || right === null || only.includes(right);
