import { SECOND } from '../../units.ts';
import type { PageContext } from '../request/page-context.ts';

/** Longer than a sign-up or a sign-in takes, with its scrypt of 60 to 100 ms and its statements. */
const EVEN_MS = 0.4 * SECOND;

/**
 * Takes the same time for an email that has an account as for one that has none.
 * @param tells whether an outcome must not tell which; a fault and any other outcome are answered at once
 */
export async function evenly<T>(
  context: PageContext,
  work: Promise<T>,
  tells: (outcome: T) => boolean = () => true,
): Promise<T> {
  const pause = Bun.sleep(EVEN_MS);
  const outcome = await work;
  if (!tells(outcome)) return outcome;
  context.leave();
  await pause;
  return outcome;
}
