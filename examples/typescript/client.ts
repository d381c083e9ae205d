/** Shared by the example programs: the client, and the text of a problem for a person. */
import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';
import { kindOf, patientFetch } from './patient-fetch.ts';

const { DIRECTORY_URL, API_KEY } = process.env;

export const client = createClient<paths>({
  baseUrl: `${DIRECTORY_URL}/api/v1`,
  // With the key a body whose answer was lost is not charged again within ten minutes.
  headers: { Authorization: `Bearer ${API_KEY}`, 'Idempotency-Key': 'example' },
  fetch: patientFetch,
});

const NO_PROBLEM = 'no answer of the service: is DIRECTORY_URL right, and is no proxy in between?';

/** @returns what to tell a person about a problem; programs look at its kind, never at its texts */
export function explain(problem: components['schemas']['Problem'] | undefined): string {
  const kind = kindOf(problem ?? null);
  switch (kind) {
    case 'unauthorized':
      return `${kind}: set API_KEY to a key that is in force`;
    case 'monthly-quota-exceeded':
      return `${kind}: no credits until ${problem?.reset}`;
    case 'company-not-found':
      return `${kind}: no company has this NIF`;
    case 'changes-expired':
      return `${kind}: screen the list again, then follow the changes into a new file`;
    case '':
      return NO_PROBLEM;
    default:
      return `${kind}: ${problem?.detail}`;
  }
}

/** Runs a program. A failure is one line, and the exit code is 1. */
export function run(main: (...words: string[]) => Promise<void>): void {
  const words = process.argv.slice(2);
  const start = async () => {
    if (!DIRECTORY_URL || !API_KEY) throw new Error('set DIRECTORY_URL and API_KEY');
    if (words.length < main.length) throw new Error('it takes a file to read and one to write');
    await main(...words);
  };
  start().catch((error: Error) => {
    console.error(error instanceof SyntaxError ? NO_PROBLEM : error.message);
    process.exitCode = 1;
  });
}
