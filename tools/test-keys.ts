/** docs/test-keys.md. */
import type { Debts } from '../src/companies/debts/bracket.ts';
import { TEST_WORLD } from '../src/companies/test-world/adapters.ts';
import { WORLD } from '../src/companies/test-world/world.ts';
import { PROBLEMS } from '../src/http/problems.ts';
import { tableOf } from './table.ts';

/** The effects of NIFs and words that do more than call up a problem of the whole request. */
const IN_LISTS: Record<string, string> = {
  'company-not-found': 'its item',
  'company-lookup-failed': 'its item',
  'search-failed': 'its item',
  'service-unavailable': 'first: the whole answer; later, in lookups and resolutions: its item',
  'monthly-quota-exceeded': 'first: the whole answer; later: this item and all that follow',
  'key-budget-exceeded': 'first: the whole answer; later: this item and all that follow',
  'key-budget-spent': 'first: the whole answer; later: this item and all that follow',
  'slow-answer': 'the whole answer',
};

const problemsTable = () =>
  tableOf([
    ['NIF', 'word', 'answer', 'in a list'],
    ...WORLD.problems.map(({ kind, nif }) => [
      nif,
      `\`${kind}\``,
      kind === 'slow-answer' ? '200, after 3 s' : String(PROBLEMS[kind].status),
      IN_LISTS[kind] ?? 'the whole answer',
    ]),
  ]);

const companiesTable = () =>
  tableOf([
    ['NIF', 'name', 'source', 'tax debt', 'social security debt'],
    ...WORLD.companies.map(({ nif, details, source, debts }) => [
      nif,
      details.title,
      source,
      bracketOf(debts.tax),
      bracketOf(debts['social-security']),
    ]),
  ]);

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

const outcomesTable = tableOf([
  ['name', 'clear', 'candidates', 'the first', 'its evidence'],
  ...(await Promise.all(NAMES.map(outcomeOf))),
]);

function bracketOf(bracket: Debts['tax']): string {
  if (bracket === undefined) return '–';
  const amount = (value: number) => value.toLocaleString('en');
  return `${amount(bracket.start)} to ${bracket.end === null ? '…' : amount(bracket.end)}`;
}

export const testKeysPage = () => `# Test keys

With a test key every endpoint and every tool answers as with a real key, from a fixed world, and costs no credit.
Each documented problem can be called up at will.
The examples of [api.md](api.md) and of the reference are such answers.

\`key create ACCOUNT --test\` makes one, and so does the button "Create test key" on the dashboard's page of keys.
Its secret begins with \`svc_test_\`, and it takes [no place](members.md#keys) of the plan.

- The validation, the headers, the problems and the order of the stages are those of a real key.
- A request with an \`Idempotency-Key\` is answered like any other, because nothing is charged; a bad one is a \`validation\`.
- A request takes a token of the account's bucket and of the key's [share](members.md#limits-of-a-key), and nothing else of the account.
- \`GET /usage\` answers the account's real plan, limits and use.
- \`GET /activity\` answers rows of the fixed world, not the account's.
- An answer has \`X-Test-Key: true\` once the bucket was asked.
- No company source is asked, no record is stored or refreshed, and no call or error is counted.
- \`_meta.credits_left\` of a tool is left out.
- Rotation, expiry and revocation are those of every key; a rotated test key stays one.

<!-- Written by tools/test-keys.ts from src/companies/test-world/world.json. -->

## Problems at will

Send the NIF, or the word as the query of a search or of matches, or as a name of a list.
An endpoint without input takes the word as \`?q=\`, over REST only.
A tool answers \`authentication-failed\` over HTTP, because the real one comes before its message is read, and so does \`rate-limit-exceeded\` of a call over 4 KiB.

${problemsTable()}
A NIF or a word does nothing at an endpoint that does not document its problem.
Of \`POST /debts/changes\` the NIFs are those of \`nifs\`; a later \`monthly-quota-exceeded\` or one of a key's budget cuts the page short.
\`buy\` is in that problem if the service has an address for it.

- \`changes-expired\`: the cursor \`chg_1\`; \`activity-expired\`: the cursor \`act_1\`.
- \`validation\`: a blank query, a NIF such as 599910012, or a body such as \`{}\`.
- \`unauthorized\`: any other key, such as the test key with its last letter changed.
- \`not-found\` and \`method-not-allowed\`: any other path or method.

A problem is called up each time, so a client that retries gives up in the end.
A \`rate-limit-exceeded\` that passes is the real one, which a burst of requests gets with a test key, too.

## Companies

They do not exist, and nobody has their NIFs.
The NIFs are valid and begin like those of companies, so that a client's own checks take them.

A lookup of another valid NIF is a \`company-not-found\`.

${companiesTable()}
The records are fresh, so no lookup takes longer than another.
\`GET /datasets\` counts these companies and debts.

## Names as people write them

\`POST /resolutions\` answers each outcome:

${outcomesTable}
## Changes of debts

\`POST /debts/changes\` pages through ${WORLD.imports.flatMap(({ changes }) => changes).length} changes of ${WORLD.imports.length} imports. Their ids are fixed.
The brackets of the table are those after the last change.
`;
