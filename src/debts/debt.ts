export const DEBT_KINDS = ['tax', 'social-security'] as const;
export type DebtKind = (typeof DEBT_KINDS)[number];
