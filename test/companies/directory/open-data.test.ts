/** Every command of docs/imports.md, as it stands there, on a miniature of its dataset. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { bareEnvironment, MAIN, ROOT } from '../../support/command.ts';
import { nif } from '../../support/companies.ts';
import { createWorkbench } from '../../support/workbench.ts';

/** Miniatures of the datasets of docs/imports.md: the forms are the real ones, companies and persons are invented. */

const NATURAL = '123456789';

const entity = (nifEntidade: string, desigEntidade: string, AliasPais = 'PT') => ({
  nifEntidade,
  desigEntidade,
  numContratos: 3,
  totAdjudicatario: 2,
  totValorContratIni: 1250.5,
  totAdjudicante: 1,
  totAdjudicanteValorContratIni: 57735504.51,
  descPais: AliasPais === 'PT' ? 'Portugal' : 'Espanha',
  AliasPais,
});

const debtor = (nipc: string, name: string, start: number, end: number | null) => ({
  name,
  step: { start, end },
  nipc: Number(nipc),
});

const debtors = (colective: object[], date: string) =>
  JSON.stringify(
    {
      singular_debtors: [
        { name: 'PESSOA INVENTADA', step: { start: 7500, end: 25000 }, nif: Number(NATURAL) },
      ],
      colective_debtors: colective,
      last_updated: date,
    },
    null,
    2,
  );

/** The Golden Copy has 338 columns: these and those between them. */
const GLEIF = [
  'LEI',
  'Entity.LegalName',
  'Entity.LegalAddress.FirstAddressLine',
  'Entity.LegalAddress.Country',
  'Entity.RegistrationAuthority.RegistrationAuthorityID',
  'Entity.RegistrationAuthority.OtherRegistrationAuthorityID',
  'Entity.RegistrationAuthority.RegistrationAuthorityEntityID',
  'Entity.LegalJurisdiction',
  'Entity.EntityStatus',
  'Registration.ValidationAuthority.ValidationAuthorityID',
  'Registration.ValidationAuthority.OtherValidationAuthorityID',
  'Registration.ValidationAuthority.ValidationAuthorityEntityID',
];

const registered = (authority: string, number: string, name: string, country: string) =>
  ['549300INVENTED000000', name, 'Rua "A", nº 1, RA000487', country].concat(
    [authority, '', number, country, 'ACTIVE'],
    [authority, '', number],
  );

const gleif = (rows: string[][]) =>
  [GLEIF, ...rows]
    .map((values) => `${values.map((value) => `"${value.replaceAll('"', '""')}"`).join(',')}\r\n`)
    .join('');

/** By the names that the commands have. */
const OPEN_DATA: Record<string, string> = {
  'portugal-2020.csv':
    'Data,Código da Operação,NIF das Entidades Beneficiárias,Designação da Entidade,Fundo\n' +
    `2023-12-31,POCI-01-0001,${nif(1)}   ,"Padaria Inventada, Lda",FEDER\n` +
    `2023-12-31,POCI-01-0002,AA123456,Pessoa Inventada,FSE\n`,
  'prr.csv':
    'cd_entidade,dt_referencia,nif_entidade,ds_entidade,papel_entidade,atividade_economica,localizacao_sede,' +
    'valor_contratado,valor_pago,cd_projeto\n' +
    `1,2026-09-19,${nif(2)},TALHO INVENTADO LD,Beneficiário,,Porto,100.00,50.00,P1\n` +
    `1,2026-09-19,${nif(2)},TALHO INVENTADO LD,Beneficiário,,Porto,200.00,50.00,P2\n` +
    `2,2026-09-19,12345678,RGPD,Destinatário,,Porto,10.00,5.00,P3\n`,
  'entidades.json': `\ufeff${JSON.stringify([
    entity('-', 'Proveedor Inventado SL', 'ES'),
    entity(nif(3), 'Município de Parte Nenhuma'),
    entity(NATURAL, 'Pessoa Inventada'),
    entity(nif(1), 'PADARIA INVENTADA UNIPESSOAL LDA'),
  ])}`,
  'gleif.csv': gleif([
    registered('RA000487', nif(4), 'INVENTADA, SGPS, S.A.', 'PT'),
    // A number of another register that is a valid NIF, too.
    registered('RA000189', nif(5), 'INVENTÉE SARL', 'FR'),
    registered('RA000487', 'PT 12', 'SUCURSAL INVENTADA', 'PT'),
    registered('RA000487', nif(1), 'PADARIA INVENTADA, LDA', 'PT'),
  ]),
  'debtors.json': debtors(
    [
      debtor(nif(1), 'PADARIA INVENTADA LDA', 25001, 50000),
      debtor(nif(4), 'INVENTADA SGPS SA', 5000001, null),
      debtor(NATURAL, 'PESSOA INVENTADA', 7500, 25000),
    ],
    '2026-09-19',
  ),
  'ss-debtors.json': debtors([debtor(nif(2), 'TALHO INVENTADO LD', 250001, 500000)], '2026-09-20'),
};

const bench = await createWorkbench('postgres');
for (const [name, content] of Object.entries(OPEN_DATA)) await bench.write(name, content);
afterAll(() => bench.close());

async function documentedCommands(): Promise<string[]> {
  const text = await Bun.file(join(ROOT, 'docs/imports.md')).text();
  const datasets = text.slice(text.indexOf('\n## Public datasets\n'));
  return [...datasets.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, command]) => command!.trim());
}

/** Does the same as `jq -c '.NAME[]' FILE`, on a machine without it. */
const JQ = `
  const [filter, file] = process.argv.slice(1);
  const document = JSON.parse((await Bun.file(file).text()).replace('\\ufeff', ''));
  const name = filter.slice(1, -2);
  for (const row of name === '' ? document : document[name]) console.log(JSON.stringify(row));`;

/** Runs a command as a shell does, where the files are. @returns its JSON answer */
async function run(command: string): Promise<Record<string, unknown>> {
  // As in the repository `bun directory` is package.json's script.
  const shell = `set -e -o pipefail; bun() { shift; "$BUN" "$MAIN" "$@"; }
    command -v jq > /dev/null || jq() { "$BUN" -e "$JQ" "$2" "$3"; }
    ${command} --json`;
  const child = Bun.spawn(['bash', '-c', shell], {
    cwd: bench.path('.'),
    env: {
      ...bareEnvironment(),
      DATABASE_URL: bench.database.url,
      BUN: process.execPath,
      MAIN,
      JQ,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command}\n${stderr}`);
  return JSON.parse(stdout);
}

test('the commands of docs/imports.md import what they say, in their order', async () => {
  const outcomes: Record<string, unknown> = {};
  for (const command of await documentedCommands()) {
    const file = Object.keys(OPEN_DATA).find((name) => command.split(/\s+/).includes(name));
    const { read, imported, rejected } = await run(command);
    outcomes[file ?? command] = { read, imported, rejected };
  }
  expect(outcomes).toEqual({
    'portugal-2020.csv': { read: 2, imported: 1, rejected: 1 },
    'prr.csv': { read: 3, imported: 1, rejected: 2 },
    'entidades.json': { read: 4, imported: 2, rejected: 2 },
    'gleif.csv': { read: 3, imported: 2, rejected: 1 },
    'debtors.json': { read: 3, imported: 2, rejected: 1 },
    'ss-debtors.json': { read: 1, imported: 1, rejected: 0 },
  });
  expect(await bench.rows()).toEqual([
    `${nif(1)} PADARIA INVENTADA, LDA`,
    `${nif(2)} TALHO INVENTADO LD`,
    `${nif(3)} Município de Parte Nenhuma`,
    `${nif(4)} INVENTADA, SGPS, S.A.`,
  ]);
  const debts = await bench.database.sql`
    SELECT kind, dataset_date::text AS date, nif, start_amount AS start, end_amount AS end
    FROM debts JOIN debt_datasets USING (kind) ORDER BY kind, nif`;
  expect(debts.map((row) => ({ ...row }))).toEqual([
    { kind: 'social-security', date: '2026-09-20', nif: nif(2), start: 250001, end: 500000 },
    { kind: 'tax', date: '2026-09-19', nif: nif(1), start: 25001, end: 50000 },
    { kind: 'tax', date: '2026-09-19', nif: nif(4), start: 5000001, end: null },
  ]);
});

test('without --columns each file is refused with the columns that it takes', async () => {
  for (const command of await documentedCommands()) {
    const [option, columns] = /--columns\s+('[^']+'|\S+)/.exec(command)!;
    const refused = await run(command.replace(option, '')).catch((error: Error) => error.message);
    expect(refused).toContain(`for instance --columns ${columns}`);
  }
});
