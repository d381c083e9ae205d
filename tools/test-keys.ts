/** The tables of docs/test-keys.md. */
import { TEST_WORLD } from '../src/companies/test-world/adapters.ts';
import { WORLD } from '../src/companies/test-world/world.ts';

/** Problems that are not the whole answer to a list. */
const IN_LISTS: Record<string, string> = {
  'company-not-found': 'its item',
  'company-lookup-failed': 'its item',
  'search-failed': 'its item',
  'service-unavailable': 'first: all; later: its item',
  'monthly-quota-exceeded': 'from it on',
  'key-budget-exceeded': 'from it on',
  'key-budget-spent': 'from it on',
};

export const problemsTable = [
  ['word', 'NIF', 'in a list'],
  ...WORLD.problems.map(({ kind, nif }) => [`\`${kind}\``, nif, IN_LISTS[kind] ?? 'all']),
];

/** A name for each outcome of a resolution. */
const NAMES = [
  'Tecnologia ZasTras',
  'Coop. Agrícola Vale Invento',
  'NIF 599910208',
  'A J Exemplo Irmãos',
  'Padaria Abacos',
  'Talho Sem Nome',
];

async function outcomeOf(name: string): Promise<string[]> {
  const { clear, candidates } = await TEST_WORLD.resolve(name);
  const evidence = candidates[0]?.evidence.map(({ kind }) => `\`${kind}\``).join(', ');
  return [name, clear ? 'yes' : 'no', String(candidates.length), candidates[0]?.nif ?? '–', evidence || '–'];
}

export const outcomesTable = [
  ['name', 'clear', 'candidates', 'the first', 'its evidence'],
  ...(await Promise.all(NAMES.map(outcomeOf))),
];
