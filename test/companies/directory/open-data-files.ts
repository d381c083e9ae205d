import { nif } from '../../support/companies.ts';

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
export const OPEN_DATA: Record<string, string> = {
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
