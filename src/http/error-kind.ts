import { PROBLEMS, type ProblemName } from './problems.ts';

/** Each problem with status 429, the 401 of a key that has ended, and all others by the class of their status. */
export type ErrorKind = 'rate-limit-exceeded' | 'monthly-quota-exceeded' | '401' | '4xx' | '5xx';

export function errorKindOf(problem: ProblemName): ErrorKind {
  if (problem === 'rate-limit-exceeded' || problem === 'monthly-quota-exceeded') return problem;
  if (problem === 'unauthorized') return '401';
  return PROBLEMS[problem].status < 500 ? '4xx' : '5xx';
}
