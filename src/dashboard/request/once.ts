import { hash } from 'node:crypto';
import type { Sql } from '../../postgres/connect.ts';
import { countAttempt } from '../auth/attempts.ts';
import { LIFE_MS } from './csrf.ts';

/**
 * Whether a form is sent for the first time, on any instance: the second click of an impatient reader, and a reload of the
 * answer, send the same form again.
 *
 * @param token the form's token, verified: each page has its own
 */
export async function isFirstSending(sql: Sql, token: string): Promise<boolean> {
  const [count] = await countAttempt(sql, [
    { key: `form ${hash('sha256', token, 'base64')}`, windowMs: LIFE_MS },
  ]);
  return count!.attempts === 1;
}
