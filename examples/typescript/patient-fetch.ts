import { setTimeout as sleep } from 'node:timers/promises';

const MAX_ATTEMPTS = 4;
const MAX_WAIT_S = 60;
const TIMEOUT_MS = 40_000;

/**
 * Problems that cost no credit and pass by themselves, so that a program may ask again. `search-failed` and
 * `company-lookup-failed` are not among them: each attempt at those costs a credit.
 */
const PASSING = ['rate-limit-exceeded', 'service-unavailable', 'authentication-failed'];

/**
 * `fetch` that waits as long as `Retry-After` says, at most a minute, and makes at most four attempts. A lost answer is asked for
 * again: with a body for nothing, because the `Idempotency-Key` is the same; without one only once.
 */
export async function patientFetch(request: Request): Promise<Response> {
  const lostAttempts = request.method === 'POST' ? MAX_ATTEMPTS : 2;
  for (let attempt = 1; ; attempt += 1) {
    let waitS = 1;
    try {
      const answer = await fetch(request.clone(), { signal: AbortSignal.timeout(TIMEOUT_MS) });
      const text = await answer.text();
      const response = new Response(text, answer);
      if (response.ok || attempt === MAX_ATTEMPTS) return response;
      waitS = secondsOf(response.headers.get('Retry-After') ?? '1');
      // Credits that are used up may take weeks to come back: no program waits for that.
      if (!PASSING.includes(kindOf(problemOf(text))) || !(waitS <= MAX_WAIT_S)) return response;
    } catch (cause) {
      const { message } = cause as Error;
      if (attempt === lostAttempts)
        throw new Error(`no answer from ${new URL(request.url).origin}: ${message}`);
      if (lostAttempts === 2) console.error(`no answer: ${message}. Asked once more, which costs again`);
    }
    await sleep(waitS * 1000);
  }
}

/** `null` if a proxy before the service answered. */
function problemOf(text: string): { type: string } | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A proxy before the service may send a date. */
function secondsOf(retryAfter: string): number {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const waitS = Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000);
  return Number.isNaN(waitS) ? 1 : Math.max(0, waitS);
}

/** The kind of a problem: the last segment of its `type`. */
export function kindOf(problem: { type: string } | null): string {
  return problem?.type?.split('/').at(-1) ?? '';
}
