/**
 * The kind of call that a credit pays for. `match` is a query for names by their words, `resolve` a name as people write it;
 * `debts` are brackets of a list of companies, and changes of them.
 */
export const CALL_KINDS = ['search', 'match', 'resolve', 'lookup', 'debts'] as const;
export type CallKind = (typeof CALL_KINDS)[number];
