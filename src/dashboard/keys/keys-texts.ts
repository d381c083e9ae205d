import type { Texts } from '../ui/in-language.ts';

export const KEY_TEXTS = {
  keysLead: `A key gives access to the API for your account. Keep it on a server: it spends your credits.
    Uma chave dá acesso à API em nome da sua conta. Guarde-a num servidor: gasta os seus créditos.`,
  keysEmpty: ['No keys yet', 'Ainda sem chaves'],
  keyNameHint: ['Where it is used, such as “production”.', 'Onde é usada, como “produção”.'],
  connectAgent: ['Connect an agent', 'Ligar um agente'],
  connectAgentLead: `An assistant with the Model Context Protocol (MCP) can use your key, at the same cost.
    Um assistente com o Model Context Protocol (MCP) pode usar a sua chave, pelo mesmo custo.`,
  agentAddress: ['Its address:', 'O endereço:'],
  agentCommand: ['For Claude Code, with your key in it:', 'Para o Claude Code, com a sua chave:'],
  recently: ['Recently', 'Recentemente'],
  creditsOfWeek: ['Credits, 7 days', 'Créditos, 7 dias'],
  refusedOfWeek: ['Refused, 7 days', 'Recusados, 7 dias'],
  limitKey: ['Limit this key', 'Limitar esta chave'],
  limitLead: `Permissions, requests a minute and a first credit limit take effect within 5 seconds, a changed limit at once.
    As permissões, os pedidos por minuto e um primeiro limite de créditos entram em vigor em menos de 5 segundos; um limite alterado, de imediato.`,
  keyBudget: ['Credit limit', 'Limite de créditos'],
  keyBudgetHint: `The most credits that it may spend. Empty: no limit of its own.
    O máximo de créditos que pode gastar. Vazio: sem limite próprio.`,
  keyBudgetPer: ['Period', 'Período'],
  numberInvalid: ['Write a whole number from {min} to {max}.', 'Escreva um número inteiro de {min} a {max}.'],
  keyShareHint: `Its share of the account’s requests a minute. Empty: no limit of its own.
    A sua parte dos pedidos por minuto da conta. Vazio: sem limite próprio.`,
  budgetPeriods: {
    day: ['per day (UTC)', 'por dia (UTC)'],
    month: ['per calendar month (UTC)', 'por mês civil (UTC)'],
    ever: ['in total', 'no total'],
  },
  budgetLeft: {
    day: ['{left} of {credits} left today', 'resta 1 de {credits} hoje | restam {left} de {credits} hoje'],
    month: `{left} of {credits} left this month
      resta 1 de {credits} este mês | restam {left} de {credits} este mês`,
    ever: ['{left} of {credits} left', 'resta 1 de {credits} | restam {left} de {credits}'],
  },
  budgetResets: ['It is renewed on {end}.', 'Renova-se em {end}.'],
  keyRights: ['Permissions', 'Permissões'],
  keyRightsHint: `With none ticked the key may do everything, future features included. A lookup shows debts, too.
    Sem nenhuma marcada, a chave pode fazer tudo, incluindo funções futuras. Uma consulta também mostra dívidas.`,
  rightGroups: {
    search: ['Search for companies', 'Pesquisar empresas'],
    companies: ['Look up companies', 'Consultar empresas'],
    debts: ['Debts, and how old the data is', 'Dívidas e data dos dados'],
    account: ['Your account’s use and activity', 'Utilização e atividade da conta'],
  },
  singleRights: ['Single permissions', 'Permissões uma a uma'],
  rights: {
    search: ['Search', 'Pesquisar'],
    matches: ['Search by words', 'Pesquisar por palavras'],
    resolve: ['Find a list of names', 'Procurar uma lista de nomes'],
    lookup: ['Look up companies', 'Consultar empresas'],
    debts: ['Screen for debts', 'Verificar dívidas'],
    changes: ['Follow changes of debts', 'Seguir alterações de dívidas'],
    usage: ['See the account’s use', 'Ver a utilização da conta'],
    datasets: ['See the age of the data', 'Ver a data dos dados'],
    activity: ['See the account’s activity', 'Ver a atividade da conta'],
  },
  lostSecret: ['Lost it later? Make a new one:', 'Perdeu-o mais tarde? Crie outro:'],
  connection: ['Connection', 'Ligação'],
  connectionsLead: `Agents that a member has signed in, such as Claude or ChatGPT. Add this address there to connect one:
    Agentes ligados por um membro, como o Claude ou o ChatGPT. Para ligar um, adicione lá este endereço:`,
  connectionEnd: ['End this connection', 'Terminar esta ligação'],
  connectionEndTitle: ['End the connection “{name}”?', 'Terminar a ligação “{name}”?'],
  connectionEndLead: `The agent’s requests are refused within 5 seconds. To go on, it must be connected again.
    Os pedidos do agente são recusados em menos de 5 segundos. Para continuar, terá de ser ligado de novo.`,
  connectBudgetHint: ['The most credits that it may spend.', 'O máximo de créditos que pode gastar.'],
  connectBudgetMissing: ['An agent needs a credit limit.', 'Um agente precisa de um limite de créditos.'],
  connectRightsHint: ['A lookup shows debts, too.', 'Uma consulta também mostra dívidas.'],
  connectRightsMissing: ['Tick what the agent may do.', 'Marque o que o agente pode fazer.'],
  createKey: ['Create key', 'Criar chave'],
  testKey: ['Test key', 'Chave de teste'],
  createTestKey: ['Create test key', 'Criar chave de teste'],
  testKeyLead: `A test key answers from invented companies, returns any error on request, and spends no credits.
    Uma chave de teste responde com empresas inventadas, devolve qualquer erro, a pedido, e não gasta créditos.`,
  tooManyKeys: {
    free: `The 1 key of the plan is in use. Revoke it to create another, or ask for Plus. | The {limit} keys of the plan are in use. Revoke one to create another, or ask for Plus.
      A única chave do plano está em uso. Revogue-a para criar outra, ou peça o plano Plus. | As {limit} chaves do plano estão em uso. Revogue uma para criar outra, ou peça o plano Plus.`,
    plus: `The 1 key is in use: revoke it first. | All {limit} keys are in use: revoke one first.
      A única chave está em uso: revogue-a. | As {limit} chaves estão em uso: revogue uma.`,
    test: `The 1 test key is in use: revoke it. | All {limit} test keys are in use: revoke one.
      A única chave de teste está em uso: revogue-a. | As {limit} chaves de teste estão em uso: revogue uma.`,
    day: `An account of this plan can create 1 key in 24 hours, and has created it. Try again later. | An account of this plan can create {limit} keys in 24 hours, and has created them. Try again later.
      Uma conta deste plano pode criar 1 chave em 24 horas, e já a criou. Tente de novo mais tarde. | Uma conta deste plano pode criar {limit} chaves em 24 horas, e já as criou. Tente de novo mais tarde.`,
  },
  begins: ['Begins with', 'Começa por'],
  created: ['Created', 'Criada'],
  never: ['Never', 'Nunca'],
  revoke: ['Revoke', 'Revogar'],
  keyStates: {
    all: ['All', 'Todas'],
    ending: ['Ending within 7 days', 'Terminam nos próximos 7 dias'],
    idle: ['Not used for 90 days', 'Sem uso há 90 dias'],
    ended: ['Revoked or expired', 'Revogadas ou expiradas'],
  },
  keySearch: ['Name or beginning of the secret', 'Nome ou início do segredo'],
  keyState: ['State', 'Estado'],
  noKeyFound: ['No key matches.', 'Nenhuma chave corresponde.'],
  endedKeys: ['Revoked and expired keys ({count})', 'Chaves revogadas e expiradas ({count})'],
  moreEndedKeys: ['Those that ended earlier are not listed.', 'As que terminaram antes não aparecem.'],
  revokeTitle: ['Revoke “{name}”?', 'Revogar “{name}”?'],
  revokeLead: `Requests with {start}… are refused within 5 seconds, everywhere. This can’t be undone.
    Os pedidos com {start}… são recusados em menos de 5 segundos, em todo o lado. Esta ação é irreversível.`,
  revokeButton: ['Revoke this key', 'Revogar esta chave'],
  keyExpiryInvalid: ['The last day must be today or later.', 'O último dia tem de ser hoje ou depois.'],
  keyUse: ['Requests in the last {days} days', 'Pedidos nos últimos {days} dias'],
  secrets: ['Secrets', 'Segredos'],
  currentSecret: ['Current', 'Atual'],
  oldSecret: ['Old', 'Anterior'],
  endedSecret: ['Ended', 'Terminado'],
  oldSecretInUse: `The old secret was used in the last 24 hours. Programs that have it stop when it ends.
    O segredo anterior foi usado nas últimas 24 horas. Os programas que o têm param quando terminar.`,
  oldSecretIdle: ['The old secret was not used for 24 hours.', 'O anterior não é usado há 24 horas.'],
  endSecret: ['End the old secret now', 'Terminar já o segredo anterior'],
  endSecretTitle: ['End the old secret of “{name}”?', 'Terminar o segredo anterior de “{name}”?'],
  endSecretLead: `Requests with it are refused within 5 seconds. The current secret goes on working.
    Os pedidos com ele são recusados em menos de 5 segundos. O segredo atual continua a funcionar.`,
  expiryHint: [
    'Its last day, in UTC. Empty: it does not expire.',
    'O último dia, em UTC. Vazio: não expira.',
  ],
  validUntil: ['Valid until', 'Válida até'],
  oldSecretUntil: ['Old secret until', 'Segredo anterior até'],
  changeTitle: ['Change “{name}”', 'Alterar “{name}”'],
  rotate: ['Rotate', 'Novo segredo'],
  rotateTitle: ['New secret for “{name}”', 'Novo segredo para “{name}”'],
  rotateLead: `The key stays the same. Give programs the new secret while the current one works.
    A chave mantém-se. Passe a usar o novo segredo enquanto o atual ainda funciona.`,
  overlap: ['The current secret works for', 'O segredo atual funciona durante'],
  overlapNone: ['it stops working now (within 5 seconds)', 'deixa já de funcionar (em menos de 5 segundos)'],
  notRotated: {
    expired: `The key has expired, so it gets no new secret. Change the last day first.
      A chave expirou, por isso não recebe um novo segredo. Altere primeiro a validade.`,
    often: `The key has had {limit} new secrets in 24 hours, which is the most. Try again later.
      A chave já recebeu {limit} segredos novos em 24 horas, que é o máximo. Tente de novo mais tarde.`,
    repeated: `This form was sent before, and the key has its new secret. If you lost it, make another.
      Este formulário já tinha sido enviado, e a chave já tem um novo segredo. Se o perdeu, crie outro.`,
  },
  previousUntil: ['The previous secret works until {end}.', 'O segredo anterior funciona até {end}.'],
  previousEnded: `The previous secret stops working within 5 seconds.
    O segredo anterior deixa de funcionar em menos de 5 segundos.`,
  newKey: ['Your new secret', 'O seu novo segredo'],
  newKeyLead: ['Copy it now: it is shown only this once.', 'Copie-o agora: só é mostrado desta vez.'],
  newKeyTry: `Try it in a terminal. Every example of the reference reads this variable:
    Experimente num terminal. Todos os exemplos da referência leem esta variável:`,
  sentAlready: `This form was sent already, and its key was created. If you lost the secret, revoke that key.
    Este formulário já foi enviado, e a chave foi criada. Se perdeu o segredo, revogue essa chave.`,
} as const satisfies Texts;
