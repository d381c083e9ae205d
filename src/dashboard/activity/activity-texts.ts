import type { Texts } from '../ui/in-language.ts';

export const ACTIVITY_TEXTS = {
  activityLead: `Requests that cost credits, got some back, or were a problem. We keep no query and no NIF. Days kept: {days}.
    Pedidos que custaram ou devolveram créditos, ou deram erro. Não guardamos o texto pesquisado nem os NIF. Dias guardados: {days}.`,
  activityOff: ['This service keeps no activity.', 'Este serviço não guarda a atividade.'],
  activityEmpty: `No requests yet. One shows up within seconds.
    Ainda sem pedidos. Aparecem em poucos segundos.`,
  activityNone: ['No request matches.', 'Nenhum pedido corresponde.'],
  activityMore: `1 further answer at no cost | {count} further answers at no cost
    Mais 1 resposta sem custo | Mais {count} respostas sem custo`,
  activityRepeated: ['Repeated, at no cost', 'Repetido, sem custo'],
  activityCharged: ['Charged', 'Cobrado'],
  activityReturned: ['Credits came back', 'Créditos devolvidos'],
  ofItem: ['Item: {problem}', 'Item: {problem}'],
  problemsOnly: ['Problems only', 'Só erros'],
  latestProblems: ['Problems in the last 24 hours', 'Erros nas últimas 24 horas'],
  timeUtc: ['Time (UTC)', 'Hora (UTC)'],
  requestId: ['Request id', 'Id do pedido'],
} as const satisfies Texts;
