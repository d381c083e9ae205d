import { at, runLoad, type Schedule } from './load.ts';
import { residentMb } from './processes.ts';
import type { Service } from './stack.ts';

/** How a customer is served beside others, and the most memory of the process meanwhile. */
export interface Figures {
  p50Ms: number;
  p99Ms: number;
  peakMb: number;
  /** Requests without an answer 200 or 404. */
  refused: number;
}

/**
 * Sends a customer's requests by a fixed schedule, and prints what came of it.
 * @param goesOn whether another window of seconds is measured; all count together
 */
export async function measureNeighbour(
  name: string,
  service: Service,
  schedule: Pick<Schedule, 'requests' | 'perSecond' | 'seconds'>,
  goesOn: () => boolean = () => false,
): Promise<Figures> {
  let peakMb = 0;
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, residentMb(service.pid));
  }, 50);
  const answered: number[] = [];
  let refused = 0;
  do {
    const { times, unanswered } = await runLoad({ ...service, connections: 200, ...schedule });
    const { 200: found = [], 404: unknown = [], ...others } = times;
    answered.push(...found, ...unknown);
    refused += Object.values(others).reduce((sum, { length }) => sum + length, unanswered);
  } while (goesOn());
  clearInterval(timer);
  answered.sort((a, b) => a - b);
  const [p50Ms, p99Ms] = [at(answered, 0.5), at(answered, 0.99)];
  process.stdout.write(
    `${name}: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${refused} of ${answered.length + refused} refused, ` +
      `peak ${peakMb.toFixed(0)} MB\n`,
  );
  return { p50Ms, p99Ms, peakMb, refused };
}
