import type { Texts } from '../ui/in-language.ts';

export const CONNECTION_TEXTS = {
  clientUnknownWarning: `Nobody has checked whose program this is. Go on only if you started this yourself.
    Ninguém verificou de quem é este programa. Continue só se iniciou este pedido.`,
  clientLocalWarning: `It sends you to a program on this computer. Go on only if you started this there yourself.
    Encaminha para um programa neste computador. Continue só se iniciou lá este pedido.`,
  clientRefused: ['This agent can’t be connected', 'Não é possível ligar este agente'],
  clientRefusedLead: `The service could not read who it is, or takes no agents of its host. Ask the operator.
    O serviço não pôde verificar quem é, ou não aceita agentes desse domínio. Pergunte ao operador.`,
  connectSignIn: `To connect an agent, sign in to your account first, or make one.
    Para ligar um agente, inicie primeiro sessão na sua conta, ou crie uma.`,
  connectTitle: ['Connect an agent?', 'Ligar um agente?'],
  connectLead: `It will call the service for your account, and spend its credits, as you allow here.
    Fará pedidos ao serviço em nome da sua conta e gastará os seus créditos, dentro do que permitir aqui.`,
  connectAllow: ['Connect', 'Ligar'],
  connectDeny: ['Do not connect', 'Não ligar'],
  connectInvalid: ['This request is not valid', 'Este pedido não é válido'],
  connectInvalidLead: `The agent has sent you here with parameters that are missing or wrong. Nothing was connected.
    O pedido do agente tem parâmetros em falta ou errados. Nada foi ligado.`,
  connectError: `The agent’s request has a fault: {error}. Nothing was connected.
    O pedido do agente tem uma falha: {error}. Nada foi ligado.`,
  connectBack: ['Back to {host}', 'Voltar a {host}'],
  connectEnded: ['This request has ended', 'Este pedido terminou'],
  connectEndedLead: `It is valid for ten minutes, in the same browser, and can be used once. Begin again in the agent.
    O pedido é válido durante dez minutos, no mesmo navegador, e só pode ser usado uma vez. Comece de novo no agente.`,
  tooManyConnections: `The account has {limit} connected agents, which is the most. End one first.
    A conta tem {limit} agentes ligados, que é o máximo. Termine primeiro uma ligação.`,
} as const satisfies Texts;
