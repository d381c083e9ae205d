import { PROBLEMS, type ProblemName } from './problems.ts';

/**
 * The refusals of the account, those by the limits of a key, all others by the class of their status, and the 401 of a key that has
 * ended.
 */
export const ERROR_KINDS = [
  'rate-limit-exceeded',
  'monthly-quota-exceeded',
  'key-limits',
  '4xx',
  '5xx',
  '401',
] as const;
export type ErrorKind = (typeof ERROR_KINDS)[number];

/** The refusals by the limits of a key: its budget and its rights. */
const KEY_LIMITS: ProblemName[] = ['key-budget-exceeded', 'key-budget-spent', 'not-permitted'];

export function errorKindOf(problem: ProblemName): ErrorKind {
  if (problem === 'rate-limit-exceeded' || problem === 'monthly-quota-exceeded') return problem;
  if (problem === 'unauthorized') return '401';
  if (KEY_LIMITS.includes(problem)) return 'key-limits';
  return PROBLEMS[problem].status < 500 ? '4xx' : '5xx';
}

/** Whether a problem costs nothing, also that of an item (docs/api.md: problems): a refusal, or it is ours to mend. */
export const isFree = (problem: ProblemName) => [403, 429, 503].includes(PROBLEMS[problem].status);
