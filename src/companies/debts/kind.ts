/** The two datasets of debts, as the code, the command line and Postgres name them. */
export const DEBT_KINDS = ['tax', 'social-security'] as const;
export type DebtKind = (typeof DEBT_KINDS)[number];

/** Their names in the API. */
export const API_KINDS = { tax: 'tax', 'social-security': 'social_security' } as const satisfies Record<
  DebtKind,
  string
>;
