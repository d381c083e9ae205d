/** `bun companies.ts NAME` finds companies by the beginning of their name, and looks up the first one. Costs two credits. */
import { client, explain, run } from './client.ts';

run(async (name = 'constru') => {
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
  console.log(`credits left: ${usage.data.data.left}`);
});
