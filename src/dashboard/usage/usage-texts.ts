import type { Texts } from '../ui/in-language.ts';

export const USAGE_TEXTS = {
  lastsUntil: `At the pace of the last 7 days, credits last until {day}.
    Ao ritmo dos últimos 7 dias, os créditos duram até {day}.`,
  lastsEnough: `At the pace of the last 7 days, credits last until the period ends.
    Ao ritmo dos últimos 7 dias, os créditos duram até ao fim do período.`,
  available: ['Credits left', 'Créditos disponíveis'],
  atZero: `At 0: requests are refused, at no cost, until {day}.
    Com 0 créditos: os pedidos são recusados, sem custo, até {day}.`,
  atZeroForGood: `At 0: requests are refused, at no cost.
    Com 0 créditos: os pedidos são recusados, sem custo.`,
  included: ['Included credits', 'Créditos incluídos'],
  leftOf: ['{left} of {limit}', '{left} de {limit}'],
  usedInPeriod: ['Used in this period', 'Usados neste período'],
  notSpent: ['Purchased credits are not spent:', 'Os créditos comprados não são gastos:'],
  resetIn: ['in {left}', 'dentro de {left}'],
  purchased: ['Purchased credits', 'Créditos comprados'],

  startTitle: ['First steps', 'Primeiros passos'],
  startKey: ['Create an API key', 'Crie uma chave'],
  startKeyLead: ['Your server sends it with each request.', 'O seu servidor envia-a em cada pedido.'],
  startCall: ['Make your first request', 'Faça o primeiro pedido'],
  startCallLead: ['Or try a search here, for a credit.', 'Ou experimente aqui, por um crédito.'],
  startSee: ['Watch it here', 'Acompanhe aqui'],

  plotTitle: ['Credits spent', 'Créditos gastos'],
  plotDays: ['from {from} to {to}, days in UTC', 'de {from} a {to}, dias em UTC'],
  plotTotal: ['1 credit | {total} credits', '1 crédito | {total} créditos'],
  range: ['Days shown', 'Dias mostrados'],
  thisPeriod: ['This period', 'Este período'],
  callKinds: {
    search: ['Searches', 'Pesquisas'],
    match: ['Searches by words', 'Pesquisas por palavras'],
    resolve: ['Names resolved', 'Nomes procurados'],
    lookup: ['Lookups', 'Consultas'],
    debts: ['Debt checks', 'Verificações de dívidas'],
  },
  total: ['Total', 'Total'],
  plotLabel: ['Bar chart: {total}, as in the table below.', 'Gráfico de barras: {total}, como na tabela.'],
  plotNone: ['Nothing on these days', 'Nada nestes dias'],
  plotEmptyLead: `Each request shows up here within seconds.
    Cada pedido aparece aqui em poucos segundos.`,
  table: ['The numbers as a table', 'Os números em tabela'],

  hoursTitle: ['Requests in the last 48 hours', 'Pedidos nas últimas 48 horas'],
  requestsLead: `Requests and items of lists, each once, by their outcome, in UTC
    Pedidos e itens de listas, cada um uma vez, pelo resultado, em UTC`,
  answered: ['Answered (200)', 'Respondidos (200)'],
  activityOf: ['See these requests', 'Ver estes pedidos'],
  latest: ['Latest', 'Mais recentes'],
  older: ['Older', 'Anteriores'],
  plansLead: ['Plans', 'Planos'],
  creditsIncluded: ['Included credits a month', 'Créditos incluídos por mês'],
  yourPlan: ['Your plan', 'O seu plano'],
  ownLimits: `Your own limits. Credits a month: {credits}. Requests a minute: {requests}.
    Os seus limites próprios. Créditos por mês: {credits}. Pedidos por minuto: {requests}.`,
  byHand: `The operator of this service adds credits and changes plans. Give your account number:
    O operador deste serviço carrega créditos e altera planos. Indique o número da sua conta:`,
  creditsEmpty: ['No purchased credits yet', 'Ainda sem créditos comprados'],
  balance: ['Balance after', 'Saldo após'],
  spentBeyond: ['Beyond the allowance', 'Além dos incluídos'],
  spendingOn: `On: when the credits of the plan are used, purchased ones pay for more requests.
    Ativo: quando os créditos do plano acabam, os comprados pagam os pedidos seguintes.`,
  spendingOff: `Off: when the credits of the plan are used, requests are refused. Purchased credits stay.
    Inativo: quando os créditos do plano acabam, os pedidos são recusados. Os créditos comprados ficam.`,
  spendingStops: `The included credits are used. If you turn this off, requests are refused until {until}.
    Os créditos incluídos acabaram. Se desativar, os pedidos são recusados até {until}.`,
} as const satisfies Texts;
