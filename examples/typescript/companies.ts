/** `bun companies.ts NAME` finds companies by the beginning of their name, and looks up the first one. Costs two credits. */
import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';
import { kindOf, patientFetch } from './patient-fetch.ts';

const { DIRECTORY_URL, DIRECTORY_KEY } = process.env;
const client = createClient<paths>({
  baseUrl: `${DIRECTORY_URL}/api/v1`,
  headers: { Authorization: `Bearer ${DIRECTORY_KEY}` },
  fetch: patientFetch,
});

/** @returns what to tell a person about a problem; programs look at its kind, never at its texts */
function explain(problem: components['schemas']['Problem'] | undefined): string {
  const kind = kindOf(problem ?? null);
  switch (kind) {
    case 'unauthorized':
      return `${kind}: set DIRECTORY_KEY to a key that is in force`;
    case 'monthly-quota-exceeded':
      return `${kind}: no credits until ${problem?.reset}`;
    case 'company-not-found':
      return `${kind}: no company has this NIF`;
    default:
      return `${kind || 'no problem document'}: ${problem?.detail}`;
  }
}

async function main(name: string): Promise<void> {
  const search = await client.GET('/companies', { params: { query: { q: name } } });
  if (!search.data) throw new Error(explain(search.error));
  // At most 20, and no further pages: a longer beginning of the name finds fewer.
  for (const { nif, legal_name } of search.data.data) console.log(`${nif} ${legal_name}`);
  const [first] = search.data.data;
  if (first === undefined) return;

  const lookup = await client.GET('/companies/{nif}', { params: { path: { nif: first.nif } } });
  if (!lookup.data) throw new Error(explain(lookup.error));
  const { title, city, tax_debt } = lookup.data.data;
  console.log(
    `${title}, ${city || 'city unknown'}, tax debt ${tax_debt ? `from ${tax_debt.start} EUR` : 'unknown'}`,
  );

  const usage = await client.GET('/usage');
  if (!usage.data) throw new Error(explain(usage.error));
  const { quotas, credits } = usage.data.data;
  console.log(`credits left: ${Math.max(0, quotas.requests.limit - quotas.requests.used) + credits}`);
}

main(process.argv[2] ?? 'constru').catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
