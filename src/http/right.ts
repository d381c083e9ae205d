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
 * The rights as most keys want them, and the groups of the reference. They are stored as single rights, so that a later right joins no
 * existing key.
 */
export const RIGHT_GROUPS = {
  search: ['search', 'matches', 'resolve'],
  companies: ['lookup'],
  debts: ['debts', 'changes', 'datasets'],
  account: ['usage', 'activity'],
} as const satisfies Record<string, readonly Right[]>;

/**
 * Whether a key may call a route.
 * @param only the key's rights; `null` means all
 * @param right the route's; `null` means that it is open to every key
 */
export const permits = (only: Right[] | null, right: Right | null): boolean =>
  only === null || right === null || only.includes(right);
