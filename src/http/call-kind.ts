/**
 * The kind of call that a credit pays for. `match` is a query for names by their words; `debts` are brackets of a list of companies, and
 * changes of them.
 */
export const CALL_KINDS = ['search', 'match', 'lookup', 'debts'] as const;
export type CallKind = (typeof CALL_KINDS)[number];
