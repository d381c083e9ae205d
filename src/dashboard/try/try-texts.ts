import type { Texts } from '../ui/in-language.ts';

export const TRY_TEXTS = {
  tryLead: `Each request here costs 1 credit, as any request does. Credits left: {available}.
    Cada pedido custa 1 crédito, como qualquer outro. Créditos disponíveis: {available}.`,
  tryLabel: ['Company name or NIF', 'Nome ou NIF da empresa'],
  queryMissing: ['Write a name or a NIF. Nothing was charged.', 'Escreva um nome ou NIF. Nada foi cobrado.'],
  nifWrong: `The check digit of this NIF is wrong: the API would answer 400. Nothing was charged.
    O algarismo de controlo deste NIF está errado: a API responderia 400. Nada foi cobrado.`,
  nifMissing: `Write the NIF to look up: nine digits, without PT. Nothing was charged.
    Escreva o NIF a consultar: nove algarismos, sem PT. Nada foi cobrado.`,
  searchHint: `A search finds names that begin with the text. By words: names with these words anywhere.
    A pesquisa encontra nomes que começam pelo texto. Por palavras: nomes com estas palavras em qualquer parte.`,
  lookUp: ['Look up NIF', 'Consultar NIF'],
  searchWords: ['Search by words', 'Pesquisar por palavras'],
  lookUpOne: ['Look up', 'Consultar'],
  itemCharged: ['It has cost 1 credit.', 'Custou 1 crédito.'],
  itemFree: ['It has cost nothing.', 'Não custou nada.'],
  noCreditSpent: ['no credit spent', 'nenhum crédito gasto'],
  took: ['Took {ms} ms', 'Demorou {ms} ms'],
  headersAndJson: ['Headers and JSON', 'Cabeçalhos e JSON'],
  address: ['Address', 'Morada'],
  companyStatus: ['Status', 'Situação'],
  legalNature: ['Legal nature', 'Natureza jurídica'],
  capital: ['Share capital', 'Capital social'],
  noBracket: ['not on the list', 'não consta'],
  bracket: ['{start} to {end}', '{start} a {end}'],
  openBracket: ['{start} or more', '{start} ou mais'],
  triedAlready: `This form was sent already, and may have been charged. Send it again for another request.
    Este formulário já foi enviado e pode ter sido cobrado. Envie-o de novo para outro pedido.`,
} as const satisfies Texts;
