import { PROBLEMS, type ProblemName } from './problems.ts';

/** Each problem with status 429, all others by the class of their status, and the 401 of a key that has ended. */
export const ERROR_KINDS = ['rate-limit-exceeded', 'monthly-quota-exceeded', '4xx', '5xx', '401'] as const;
export type ErrorKind = (typeof ERROR_KINDS)[number];

export function errorKindOf(problem: ProblemName): ErrorKind {
  if (problem === 'rate-limit-exceeded' || problem === 'monthly-quota-exceeded') return problem;
  if (problem === 'unauthorized') return '401';
  return PROBLEMS[problem].status < 500 ? '4xx' : '5xx';
}

/** Whether a problem costs nothing, also that of an item (contract: problem details): no credit was left, or it is ours to mend. */
export const isFree = (problem: ProblemName) => [429, 503].includes(PROBLEMS[problem].status);
