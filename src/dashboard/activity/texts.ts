import type { Texts } from '../ui/texts.ts';

export const ACTIVITY_TEXTS = {
  activityLead: `Requests that cost credits, got some back, or were a problem, of the last {days} days. It has no query and no NIF.
    Pedidos que custaram ou devolveram créditos, ou tiveram erro, dos últimos {days} dias. Sem pesquisas nem NIF.`,
  activityOff: ['This service keeps no activity.', 'Este serviço não guarda a atividade.'],
  activityEmpty: [
    'No requests yet. One shows up within seconds.',
    'Ainda sem pedidos. Aparecem em poucos segundos.',
  ],
  activityNone: ['No request matches.', 'Nenhum pedido corresponde.'],
  activityMore: ['{count} further answers at no cost', 'Mais {count} respostas sem custo'],
  activityRepeated: ['Repeated, at no cost', 'Repetido, sem custo'],
  rowKinds: {
    charge: ['Charged', 'Cobrado'],
    return: ['Credits came back', 'Créditos devolvidos'],
    answer: ['Refusals and problems', 'Recusas e erros'],
  },
  timeUtc: ['Time (UTC)', 'Hora (UTC)'],
  requestId: ['Request id', 'Id do pedido'],
} as const satisfies Texts;
