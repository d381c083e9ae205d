import type { Texts } from '../ui/in-language.ts';

export const SCREEN_TEXTS = {
  screenTitle: ['Screen a list for debts', 'Verificar as dívidas de uma lista'],
  screenLead: `Each company costs 1 credit. Credits left: {available}. You see the price first. Lists are not stored.
    Cada empresa custa 1 crédito. Créditos disponíveis: {available}. Verá primeiro o preço. As listas não são guardadas.`,
  screenLabel: ['NIFs, at most {max}', 'NIF, no máximo {max}'],
  screenHint: `One on each line, or rows of a table: every number of nine digits is read. Rows without one can be found by name.
    Um por linha, ou linhas de uma tabela: lê-se cada número de nove algarismos. As linhas sem NIF podem ser procuradas pelo nome.`,
  screenWorkbook: `This is a workbook. Save it as CSV in your spreadsheet, and choose that file.
    Isto é uma folha de cálculo. Guarde-a como CSV e escolha esse ficheiro.`,
  screenFile: ['Or a file', 'Ou um ficheiro'],
  screenFileHint: `Text or CSV. Its rows go into the field above.
    Texto ou CSV. As linhas vão para o campo acima.`,
  screenRead: ['Read the list', 'Ler a lista'],
  screenNone: `No NIF found: nine digits with a right check digit. Save tables as CSV. Nothing was charged.
    Nenhum NIF encontrado: são nove algarismos, com o algarismo de controlo certo. Guarde tabelas em CSV. Nada foi cobrado.`,
  screenTooMany: `It has {count} NIFs, and one list {max} at most: screen it in parts. Nothing was charged.
    Tem {count} NIF, e cada lista no máximo {max}: verifique-a por partes. Nada foi cobrado.`,
  screenTooLong: `It has {count} rows, and one list {max} at most: read it in parts. Nothing was charged.
    Tem {count} linhas, e cada lista no máximo {max}: leia-a por partes. Nada foi cobrado.`,
  screenPrice: `1 company costs 1 credit. | {count} companies cost {count} credits.
    1 empresa custa 1 crédito. | {count} empresas custam {count} créditos.`,
  screenRows: ['1 row | {count} rows', '1 linha | {count} linhas'],
  screenRepeated: ['1 repeated | {count} repeated', '1 repetida | {count} repetidas'],
  screenWrong: ['1 not valid | {count} not valid', '1 inválida | {count} inválidas'],
  screenWithoutNif: ['1 without a NIF | {count} without a NIF', '1 sem NIF | {count} sem NIF'],
  screenLeftOutTitle: `The row that is not screened | The {count} rows that are not screened
    A linha que não é verificada | As {count} linhas que não são verificadas`,
  screenLine: ['Row', 'Linha'],
  screenPasted: ['As pasted', 'Como foi colado'],
  screenWhy: ['Why', 'Motivo'],
  screenLeftOut: {
    repeated: ['The same as row {line}', 'Igual à linha {line}'],
    wrong: ['Wrong check digit', 'Algarismo de controlo errado'],
    length: ['Not nine digits', 'Não tem nove algarismos'],
    rounded: ['Rounded by a spreadsheet', 'Arredondado por uma folha de cálculo'],
    missing: ['No NIF', 'Sem NIF'],
  },
  screenOutcome: ['Result', 'Resultado'],
  screenOutcomes: {
    found: ['On a list of debtors', 'Numa lista de devedores'],
    without: ['Not on the list', 'Não consta'],
    unpaid: ['Not screened, not charged', 'Não verificada, não cobrada'],
  },
  screenResolve: `Find 1 name: 1 credit | Find {count} names: 1 to {count} credits
    Procurar 1 nome: 1 crédito | Procurar {count} nomes: de 1 a {count} créditos`,
  screenResolveOf: `Find {count} of {total} names. Credits: 1 to {count}
    Procurar {count} de {total} nomes. Créditos: de 1 a {count}`,
  screenCandidates: ['Companies with this name', 'Empresas com este nome'],
  screenNoCandidate: ['None found', 'Nenhuma encontrada'],
  screenNotClear: ['No clear one', 'Nenhuma inequívoca'],
  screenChoose: ['None of these', 'Nenhuma destas'],
  screenClear: ['Clear', 'Inequívoca'],
  screenClearOnly: [
    'Clear matches only: others cost nothing',
    'Só as inequívocas: as outras não custam nada',
  ],
  screenTake: `Choose, and read the list again: the NIFs go behind their names.
    Escolha e volte a ler a lista: os NIF ficam a seguir aos nomes.`,
  screenAtLeast: `Nothing was found. A request costs at least 1.
    Nada foi encontrado. Um pedido custa pelo menos 1.`,
  screenReadChosen: ['Read the list with these NIFs', 'Ler a lista com estes NIF'],
  screenUnknown: ['not in the directory', 'fora do diretório'],
  screenFrom: ['from', 'de'],
  screenTo: ['to', 'a'],
  screenFileName: ['debts.csv', 'dividas.csv'],
  screenShort: ['Your credits suffice for the first {left}.', 'Os seus créditos chegam para {left}.'],
  screenNoCredits: ['You have no credits left to screen it.', 'Não tem créditos para a verificar.'],
  screenLate: `This form was sent before, so you see the price again. Nothing was charged now.
    Este formulário já foi enviado, por isso volta a ver o preço. Agora nada foi cobrado.`,
  screenRun: `Screen 1 company | Screen {count} companies
    Verificar 1 empresa | Verificar {count} empresas`,
  creditCount: ['1 credit | {count} credits', '1 crédito | {count} créditos'],
  screenFound: `On a list of debtors: {found} of {count}
    Numa lista de devedores: {found} de {count}`,
  screenAgain: ['No credit spent: this list was charged before', 'Nenhum crédito gasto: lista já cobrada'],
  screenFree: `Until {time} (UTC), a reload or the same list costs nothing. Download it to keep it.
    Até {time} (UTC), recarregar a página ou repetir a lista não custa nada. Descarregue-a para a guardar.`,
  screenAbsent: `Not being on the list does not mean having no debts: it has those above a certain amount only.
    Não constar da lista não significa não ter dívidas: só inclui dívidas acima de um certo valor.`,
  screenMissing: `This list was never imported here. Not being on it says nothing.
    Esta lista nunca foi importada aqui. Não constar dela não diz nada.`,
  screenRefused: `Not screened, because the credits did not suffice, and not charged: {count}.
    Por verificar, porque os créditos não chegaram, e não cobradas: {count}.`,
  screenFailed: `Not screened, and not charged: {count}.
    Por verificar, e não cobradas: {count}.`,
  screenRest: `Screen the other company | Screen the other {count} companies
    Verificar a outra empresa | Verificar as outras {count} empresas`,
} as const satisfies Texts;
