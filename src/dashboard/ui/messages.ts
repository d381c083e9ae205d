import type { EventKind } from '../../metering/accounts/events.ts';
import type { Language } from './language.ts';
import { MAIL_TEXTS } from './mail-texts.ts';
import { STATE_TEXTS } from './states.ts';
import { type InOne, inLanguage, type Texts } from './texts.ts';

/** Every text of the dashboard and of its mail, in English and in Portuguese. */
const TEXTS = {
  states: STATE_TEXTS,
  brand: ['Company Directory', 'Diretório de Empresas'],
  frontTitle: ['Portuguese companies, by one API', 'As empresas portuguesas, numa só API'],
  aboutLead: `Find Portuguese companies by name or NIF, read their details, and check them for tax and social security debts.
    Encontre empresas portuguesas pelo nome ou NIF, consulte os seus dados e saiba se têm dívidas fiscais ou à Segurança Social.`,
  aboutAgents: `A JSON API for programs, a dashboard for people, and tools for assistants (MCP).
    Uma API JSON para programas, um painel para pessoas e ferramentas para assistentes (MCP).`,
  aboutCost: `A search or a lookup costs 1 credit. A refused request costs nothing, and a test key is free. An account is free, with credits each month.
    Uma pesquisa ou uma consulta custa 1 crédito. Um pedido recusado não custa nada, e uma chave de teste é gratuita. A conta é gratuita, com créditos todos os meses.`,
  skip: ['Skip to content', 'Ir para o conteúdo'],
  account: ['Account', 'Conta'],
  menu: ['Menu', 'Menu'],
  overview: ['Overview', 'Resumo'],
  keys: ['API keys', 'Chaves'],
  tryIt: ['Try it', 'Experimentar'],
  screen: ['Screen a list', 'Verificar lista'],
  credits: ['Credits', 'Créditos'],
  settings: ['Settings', 'Definições'],
  reference: ['API reference', 'Referência da API'],
  contact: ['Contact', 'Contacto'],
  privacy: ['Privacy notice', 'Privacidade'],
  terms: ['Terms of use', 'Termos de utilização'],
  status: ['Service status', 'Estado do serviço'],
  conditions: ['By creating an account you accept:', 'Ao criar a conta, aceita:'],
  referenceShort: ['Reference', 'Referência'],
  referenceLead: `Every endpoint, with an example that runs when your key is in the variable API_KEY. A test key gets the answers shown, except those about usage.
    Todas as operações, com um exemplo que funciona com a sua chave na variável API_KEY. Uma chave de teste recebe as respostas indicadas, exceto as da utilização.`,
  forAgents: ['For agents (MCP)', 'Para agentes (MCP)'],
  forGenerators: ['for code generators', 'para geradores de código'],
  dashboard: ['Dashboard', 'Painel'],
  baseAddress: ['Base address', 'Endereço base'],
  authentication: ['Authentication', 'Autenticação'],
  parameters: ['Parameters', 'Parâmetros'],
  parameter: ['Parameter', 'Parâmetro'],
  place: ['In', 'Em'],
  places: {
    query: ['query', 'query'],
    path: ['path', 'caminho'],
    header: ['header, may be absent', 'cabeçalho, facultativo'],
  },
  meaning: ['Meaning', 'Significado'],
  answerHeaders: ['Headers of answers', 'Cabeçalhos das respostas'],
  headerName: ['Header', 'Cabeçalho'],
  requestBody: ['Body', 'Corpo'],
  example: ['Example', 'Exemplo'],
  exampleAnswer: ['Example answer', 'Exemplo de resposta'],
  exampleInvented: [
    'Its company is invented: a test key gets it.',
    'A empresa é inventada: é o que recebe uma chave de teste.',
  ],
  findInReference: ['Search the reference', 'Pesquisar na referência'],
  findHint: [
    'A field, a problem, a path: all words must be there.',
    'Um campo, um erro, um caminho: todas as palavras.',
  ],
  results: ['Results', 'Resultados'],
  sampleNeeds: {
    curl: [
      'curl is part of macOS, Windows and most of Linux.',
      'O curl vem com o macOS, o Windows e quase todo o Linux.',
    ],
    javascript: [
      'Node.js 18 or newer, as example.mjs. Nothing to install.',
      'Node.js 18 ou posterior, em exemplo.mjs. Nada a instalar.',
    ],
    python: [
      'Python 3.8 or newer. Install its client first:',
      'Python 3.8 ou posterior. Instale antes o cliente:',
    ],
    php: ['PHP 8 or newer, with its extension:', 'PHP 8 ou posterior, com a extensão:'],
  },
  onThisPage: ['On this page', 'Nesta página'],
  problems: ['Problems', 'Problemas'],
  testKeys: ['Test keys', 'Chaves de teste'],
  testKeysLead: `
    A test key (svc_test_…) is free and has invented companies. A lookup or a list with the NIF, or a query that is the word, gets the problem.
    Uma chave de teste (svc_test_…) é gratuita e tem empresas inventadas. Uma consulta ou uma lista com o NIF, ou uma pesquisa igual à palavra, recebe o erro.`,
  word: ['Word', 'Palavra'],
  problemsLead: `Failures are application/problem+json (RFC 9457). The last segment of their type is the kind.
    As falhas são application/problem+json (RFC 9457). O último segmento do seu type é o tipo.`,
  statusCode: ['Status', 'Código'],
  kind: ['Kind', 'Tipo'],
  cause: ['Cause', 'Causa'],
  whatToDo: ['What to do', 'O que fazer'],
  schemas: ['Schemas', 'Esquemas'],
  member: ['Member', 'Membro'],
  type: ['Type', 'Tipo'],
  otherLanguage: ['Português', 'English'],
  signOut: ['Sign out', 'Sair'],
  signedOut: ['You were signed out', 'A sua sessão terminou'],
  signedOutLead: [
    'Nothing was changed. Sign in to send the form again.',
    'Nada mudou. Inicie sessão e volte a enviar o formulário.',
  ],
  cancel: ['Cancel', 'Cancelar'],
  copy: ['Copy', 'Copiar'],
  copied: ['Copied ✓', 'Copiado ✓'],
  pressCopy: ['Press Ctrl+C', 'Prima Ctrl+C'],
  hidePassword: ['Hide', 'Ocultar'],

  signIn: ['Sign in', 'Iniciar sessão'],
  signUp: ['Create an account', 'Criar conta'],
  signUpLead: `Plan Free. Credits a month: {credits}. API keys: {keys}.
    Plano gratuito. Créditos por mês: {credits}. Chaves: {keys}.`,
  noAccountYet: ['No account yet?', 'Ainda não tem conta?'],
  haveAccount: ['Already have an account?', 'Já tem conta?'],
  closed: ['New accounts are by invitation of the operator.', 'As contas novas são por convite do operador.'],
  name: ['Name', 'Nome'],
  nameHint: ['Yours, or your company’s.', 'O seu, ou o da sua empresa.'],
  email: ['Email', 'Email'],
  password: ['Password', 'Palavra-passe'],
  newPassword: ['New password', 'Nova palavra-passe'],
  presentPassword: ['Current password', 'Palavra-passe atual'],
  passwordHint: ['At least {min} characters.', 'Pelo menos {min} caracteres.'],
  forgot: ['Forgot the password?', 'Esqueceu-se da palavra-passe?'],
  forgotTitle: ['Reset the password', 'Repor a palavra-passe'],
  forgotLead: ['We send you a link that works for an hour.', 'Enviamos uma ligação, válida uma hora.'],
  forgotNoMail: `This service sends no mail. Ask its operator for a new link.
    Este serviço não envia emails. Peça uma nova ligação ao operador.`,
  sendLink: ['Send the link', 'Enviar a ligação'],
  seeMail: ['See your mail', 'Verifique o seu email'],
  seeMailLead: `A link for {email} is on its way, unless it had five this hour. It works for an hour.
    Uma ligação para {email} vai a caminho, salvo se já recebeu cinco nesta hora. É válida uma hora.`,
  sentAgainLead: `If {email} is not confirmed yet, a link is on its way, unless it had five this hour.
    Se {email} ainda não estiver confirmado, uma ligação vai a caminho, salvo se já recebeu cinco nesta hora.`,
  resetTitle: ['Choose a new password', 'Escolha uma nova palavra-passe'],
  save: ['Save', 'Guardar'],
  confirmTitle: ['Confirm your email', 'Confirme o seu email'],
  confirmButton: ['Confirm', 'Confirmar'],
  confirmLead: ['Click to confirm your address.', 'Basta um clique para o endereço ficar confirmado.'],
  confirmPending: `Confirm your address before you create a key: we sent a link to {email}.
    Confirme o seu endereço antes de criar uma chave: enviámos uma ligação para {email}.`,
  confirmAgain: ['Send it again', 'Enviar de novo'],
  invitationTitle: ['Choose a password', 'Escolha uma palavra-passe'],
  invitationLead: `You were invited to the account “{account}”. Your sign-in is {email}.
    Recebeu um convite para a conta “{account}”. Vai iniciar sessão com {email}.`,
  invitationReset: ['Account “{account}”, for {email}.', 'Conta “{account}”, para {email}.'],
  invitationButton: ['Open the dashboard', 'Abrir o painel'],
  elsewhereTitle: ['This address belongs to another account', 'Este endereço pertence a outra conta'],
  elsewhereLead: `“{account}” invited {email}. Have another address invited, or leave the other account first.
    “{account}” convidou {email}. Peça um convite para outro endereço, ou saia primeiro da outra conta.`,
  linkInvalid: ['This link is not valid any more', 'Esta ligação já não é válida'],
  linkInvalidLead: ['It was used or has expired.', 'Já foi usada ou expirou.'],
  newLinkInvitation: ['Ask the sender of the invitation for another.', 'Peça outra ao remetente do convite.'],
  newLink: ['Ask for a new link', 'Pedir uma nova ligação'],

  wrongSignIn: ['The email or the password is wrong.', 'Email ou palavra-passe incorretos.'],
  wrongOrUnconfirmed: `The email or the password is wrong, or the email is not confirmed yet: see your mail.
    Email ou palavra-passe incorretos, ou o email ainda não foi confirmado: verifique o seu email.`,
  wrongPassword: ['The current password is wrong.', 'A palavra-passe atual está errada.'],
  emailTaken: ['There is an account with this email already.', 'Já existe uma conta com este email.'],
  signInInstead: ['Sign in instead.', 'Inicie sessão.'],
  emailInvalid: ['Write an address as name@example.com.', 'Escreva um endereço como nome@exemplo.pt.'],
  nameInvalid: ['Write a name of 1 to 200 characters.', 'Escreva um nome de 1 a 200 caracteres.'],
  passwordInvalid: ['A password has {min} to {max} characters.', 'Deve ter de {min} a {max} caracteres.'],
  passwordCommon: `This password is too common: it is among the first that are guessed. Choose another.
    Esta palavra-passe é demasiado comum: é das primeiras a ser adivinhadas. Escolha outra.`,
  passwordKnown: `Too near to your email, your name or the name of this service. Choose another.
    Demasiado parecida com o seu email, o seu nome ou o nome deste serviço. Escolha outra.`,
  tooMany: ['Too many attempts. Try again in {wait}.', 'Demasiadas tentativas. Espere {wait}.'],

  suspendedReason: ['Reason: {reason}', 'Motivo: {reason}'],
  refusedRequests: [
    'Refused requests since yesterday: {requests}.',
    'Pedidos recusados desde ontem: {requests}.',
  ],
  openKey: ['See the key', 'Ver a chave'],
  keysEndSoon: `1 key that is in use ends within 7 days. | {count} keys that are in use end within 7 days.
    1 chave em uso termina dentro de 7 dias. | {count} chaves em uso terminam dentro de 7 dias.`,
  openKeys: ['See the keys', 'Ver as chaves'],
  dismiss: ['Dismiss', 'Dispensar'],
  lastsUntil: `At the pace of the last 7 days, credits last until {day}.
    Ao ritmo dos últimos 7 dias, os créditos duram até {day}.`,
  lastsEnough: `At the pace of the last 7 days, credits last until the period ends.
    Ao ritmo dos últimos 7 dias, os créditos duram até ao fim do período.`,
  buyCredits: ['Buy credits', 'Comprar créditos'],
  getMore: ['How to get more credits', 'Como obter mais créditos'],
  plan: ['Plan', 'Plano'],
  plans: {
    free: ['Free', 'Gratuito'],
    plus: ['Plus', 'Plus'],
  },
  available: ['Credits left', 'Créditos disponíveis'],
  refused: ['Refused', 'Recusados'],
  atZero: `At 0: requests are refused, at no cost, until {day}.
    Aos 0: os pedidos são recusados, sem custo, até {day}.`,
  included: ['Included credits', 'Créditos incluídos'],
  leftOf: ['{left} of {limit}', '{left} de {limit}'],
  usedInPeriod: ['Used in this period', 'Usados neste período'],
  notSpent: ['Purchased credits are not spent:', 'Os créditos comprados não são gastos:'],
  forecast: ['Forecast', 'Previsão'],
  reset: ['Resets', 'Renovação'],
  ends: ['Ends', 'Termina'],
  resetIn: ['in {left}', 'dentro de {left}'],
  period: ['Period', 'Período'],
  purchased: ['Purchased credits', 'Créditos comprados'],
  history: ['Credit history', 'Histórico de créditos'],
  keysInUse: ['of {limit} in use', 'de {limit} em uso'],
  manageKeys: ['Manage keys', 'Gerir chaves'],

  startTitle: ['First steps', 'Primeiros passos'],
  startKey: ['Create an API key', 'Crie uma chave'],
  startKeyLead: ['Your server sends it with each request.', 'O seu servidor envia-a em cada pedido.'],
  startCall: ['Call the API', 'Chame a API'],
  startCallLead: ['Or try a search here, for a credit.', 'Ou experimente aqui, por um crédito.'],
  startSee: ['Watch it here', 'Acompanhe aqui'],

  plotTitle: ['Credits spent', 'Créditos gastos'],
  plotSince: ['since {day}, days in UTC', 'desde {day}, dias em UTC'],
  plotBetween: ['from {from} to {to}, days in UTC', 'de {from} a {to}, dias em UTC'],
  plotTotal: ['1 credit | {total} credits', '1 crédito | {total} créditos'],
  range: ['Days shown', 'Dias mostrados'],
  days: ['{days} days', '{days} dias'],
  thisPeriod: ['This period', 'Este período'],
  firstDay: ['First day', 'Primeiro dia'],
  lastDay: ['Last day', 'Último dia'],
  show: ['Show', 'Mostrar'],
  daysInvalid: `Choose a first and a last day, at most a year apart.
    Escolha um primeiro e um último dia, separados por um ano no máximo.`,
  split: ['Split', 'Divisão'],
  byKind: ['By kind', 'Por tipo'],
  byKey: ['By key', 'Por chave'],
  callKinds: {
    search: ['Searches', 'Pesquisas'],
    match: ['Searches by words', 'Pesquisas por palavras'],
    resolve: ['Names of lists', 'Nomes de listas'],
    lookup: ['Lookups', 'Consultas'],
    debts: ['Debt checks', 'Verificações de dívidas'],
  },
  total: ['Total', 'Total'],
  day: ['Day', 'Dia'],
  otherKeys: ['Other keys', 'Outras chaves'],
  plotLabel: ['Bar chart: {total}, as in the table below.', 'Gráfico de barras: {total}, como na tabela.'],
  updatedAt: ['Figures of {time} UTC.', 'Valores das {time} UTC.'],
  signedOutLive: `You were signed out, so these figures stand still. Reload the page to sign in.
    A sua sessão terminou, e estes valores já não são atualizados. Recarregue a página para iniciar sessão.`,
  awayLive: `They stand still, because the service doesn’t answer at the moment. They go on by themselves.
    Estão parados, porque o serviço de momento não responde. Continuam por si.`,
  plotEmpty: ['No requests yet', 'Ainda sem pedidos'],
  plotNone: ['No credits on these days', 'Sem créditos nestes dias'],
  plotEmptyLead: [
    'Each request shows up here within seconds.',
    'Cada pedido aparece aqui em poucos segundos.',
  ],
  table: ['The numbers as a table', 'Os números em tabela'],
  tableEmptyDays: ['Rows without any are left out.', 'As linhas sem valores são omitidas.'],
  csv: ['Download as CSV', 'Descarregar CSV'],

  errorsTitle: ['Refused and failed requests', 'Pedidos recusados e falhados'],
  errorsLead: `Each refused item counts. A refusal or a 503 costs no credit; other errors do
    Cada item recusado conta. Uma recusa ou um 503 não custa créditos; os outros erros custam`,
  errorKinds: {
    'rate-limit-exceeded': ['Too many requests in a minute (429)', 'Demasiados pedidos num minuto (429)'],
    'monthly-quota-exceeded': ['No credits left (429)', 'Sem créditos (429)'],
    'key-limits': ['Limits of a key (403, 429)', 'Limites de uma chave (403, 429)'],
    '4xx': ['Not valid, or not found (400, 404)', 'Inválidas, ou não encontradas (400, 404)'],
    '5xx': ['Failed here (500 to 503)', 'Falhas do serviço (500 a 503)'],
    '401': ['Key or secret had ended (401)', 'Chave ou segredo já terminados (401)'],
  },
  errorCredits: ['Credits spent on errors', 'Créditos gastos em erros'],

  activityTitle: ['Activity', 'Atividade'],
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
  activityOf: ['See these requests', 'Ver estes pedidos'],
  rowKinds: {
    charge: ['Charged', 'Cobrado'],
    return: ['Credits came back', 'Créditos devolvidos'],
    answer: ['Refusals and problems', 'Recusas e erros'],
  },
  all: ['All', 'Todos'],
  key: ['Key', 'Chave'],
  endpoint: ['Endpoint or tool', 'Operação'],
  outcome: ['Outcome', 'Resultado'],
  timeUtc: ['Time (UTC)', 'Hora (UTC)'],
  requestId: ['Request id', 'Id do pedido'],

  data: ['Data', 'Dados'],
  dataDirectory: ['Directory', 'Diretório'],
  dataTax: ['Tax debts', 'Dívidas fiscais'],
  dataSocialSecurity: ['Social security debts', 'Dívidas à Segurança Social'],
  dataImported: ['imported on', 'importadas em'],
  dataOf: ['as of', 'à data de'],
  dataNone: ['not imported', 'por importar'],

  keysLead: `A key opens the API for your account. Keep it on a server: it spends your credits.
    Uma chave abre a API em nome da sua conta. Guarde-a num servidor: gasta os seus créditos.`,
  keysEmpty: ['No keys yet', 'Ainda sem chaves'],
  keyNameHint: ['Where it is used, as “production”.', 'Onde é usada, como “produção”.'],
  connectAgent: ['Connect an agent', 'Ligar um agente'],
  connectAgentLead: `An assistant with the Model Context Protocol (MCP) can use your key, at the same cost.
    Um assistente com o Model Context Protocol (MCP) pode usar a sua chave, pelo mesmo custo.`,
  agentAddress: ['Its address:', 'O endereço:'],
  agentCommand: ['For Claude Code, with your key in it:', 'Para o Claude Code, com a sua chave:'],
  justNow: ['A moment ago', 'Há instantes'],
  creditsOfWeek: ['Credits, 7 days', 'Créditos, 7 dias'],
  refusedOfWeek: ['Refused, 7 days', 'Recusados, 7 dias'],
  limit: ['Limit', 'Limitar'],
  limitTitle: ['What may “{name}” spend and do?', 'O que pode “{name}” gastar e fazer?'],
  limitLead: `Rights, and a first budget, are in force within 5 seconds; a changed budget is at once.
    Os direitos e um primeiro orçamento valem em menos de 5 segundos; um orçamento alterado vale logo.`,
  keyLimits: ['Budget and rights', 'Orçamento e direitos'],
  keyBudget: ['Budget', 'Orçamento'],
  keyBudgetHint: `The most credits that it spends. Empty: as many as the account has.
    O máximo de créditos que gasta. Vazio: tantos quantos a conta tiver.`,
  keyBudgetPer: ['The budget is for', 'O orçamento é para'],
  keyBudgetInvalid: ['Write a whole number from 1 to {max}.', 'Escreva um número inteiro de 1 a {max}.'],
  budgetPeriods: {
    day: ['each day (UTC)', 'cada dia (UTC)'],
    month: [
      'each calendar month (UTC), not the plan’s period',
      'cada mês civil (UTC), não o período do plano',
    ],
    ever: ['ever: it is not renewed', 'sempre: não se renova'],
  },
  budgetUsed: {
    day: ['Credits used today: {used} of {credits}', 'Créditos usados hoje: {used} de {credits}'],
    month: ['Credits used this month: {used} of {credits}', 'Créditos usados este mês: {used} de {credits}'],
    ever: ['Credits used: {used} of {credits}', 'Créditos usados: {used} de {credits}'],
  },
  budgetLeft: {
    day: ['{left} of {credits} left today', '{left} de {credits} hoje'],
    month: ['{left} of {credits} left this month', '{left} de {credits} este mês'],
    ever: ['{left} of {credits} left', '{left} de {credits}'],
  },
  budgetResets: ['It is renewed on {end}.', 'Renova-se em {end}.'],
  keyOnly: ['It may only:', 'Só pode:'],
  keyRights: ['Rights', 'Direitos'],
  keyRightsHint: `None ticked: everything, also what comes later. A lookup shows debts, too.
    Nenhum marcado: tudo, também o que vier depois. Uma consulta também mostra dívidas.`,
  rights: {
    search: ['Search', 'Pesquisar'],
    matches: ['Search by words', 'Pesquisar por palavras'],
    resolve: ['Resolve names', 'Resolver nomes'],
    lookup: ['Look up companies', 'Consultar empresas'],
    debts: ['Screen for debts', 'Verificar dívidas'],
    changes: ['Follow changes of debts', 'Seguir alterações de dívidas'],
    usage: ['See the account’s use', 'Ver a utilização da conta'],
    datasets: ['See the age of the data', 'Ver a idade dos dados'],
    activity: ['See the account’s activity', 'Ver a atividade da conta'],
  },
  lostSecret: ['Lost it later? Make a new one:', 'Perdeu-o mais tarde? Crie outro:'],
  connection: ['Connection', 'Ligação'],
  connections: ['Connected agents', 'Agentes ligados'],
  connectionsLead: `Agents that a member has signed in, as Claude or ChatGPT. Add this address there to connect one:
    Agentes ligados por um membro, como o Claude ou o ChatGPT. Para ligar um, adicione lá este endereço:`,
  connectedOn: ['Connected', 'Ligado'],
  connectedBy: ['By', 'Por'],
  connectionEnd: ['End this connection', 'Terminar esta ligação'],
  client: ['Agent of', 'Agente de'],
  clientCalls: ['It calls itself', 'Chama-se a si próprio'],
  clientSendsTo: ['Leads you back to', 'Leva-o de volta a'],
  clientUnknown: ['an unchecked program', 'um programa não verificado'],
  clientUnknownWarning: `Nobody has checked who this program is of. Go on only if you began this yourself.
    Ninguém verificou de quem é este programa. Continue só se foi o próprio a começar.`,
  clientLocalWarning: `It leads to a program on this computer. Go on only if you began this there yourself.
    Leva a um programa neste computador. Continue só se foi o próprio a começar lá.`,
  clientRefused: ['This agent can’t be connected', 'Não é possível ligar este agente'],
  clientRefusedLead: `The service could not read who it is, or takes no agents of its host. The operator can tell more.
    O serviço não pôde verificar quem é, ou não aceita agentes desse domínio. O operador sabe mais.`,
  connectTitle: ['Connect an agent?', 'Ligar um agente?'],
  connectLead: `It will call the service for your account, and spend its credits, as you allow here.
    Fará pedidos ao serviço em nome da sua conta, e gastará os seus créditos, como permitir aqui.`,
  connectBudgetHint: ['The most credits that it spends.', 'O máximo de créditos que gasta.'],
  connectBudgetMissing: ['An agent needs a budget.', 'Um agente precisa de um orçamento.'],
  connectRightsHint: ['A lookup shows debts, too.', 'Uma consulta também mostra dívidas.'],
  connectRightsMissing: ['Tick what the agent may do.', 'Marque o que o agente pode fazer.'],
  connectAllow: ['Connect', 'Ligar'],
  connectDeny: ['Do not connect', 'Não ligar'],
  connectInvalid: ['This request is not valid', 'Este pedido não é válido'],
  connectInvalidLead: `The agent has sent you here with parameters that are missing or wrong. Nothing was connected.
    O agente enviou-o para aqui com parâmetros em falta ou errados. Nada foi ligado.`,
  connectError: `The agent’s request has a fault: {error}. Nothing was connected.
    O pedido do agente tem uma falha: {error}. Nada foi ligado.`,
  connectBack: ['Back to {host}', 'Voltar a {host}'],
  connectEnded: ['This request has ended', 'Este pedido terminou'],
  connectEndedLead: `It waits for ten minutes, in the browser that began it, and connects once. Begin again in the agent.
    Espera dez minutos, no navegador em que começou, e liga uma só vez. Comece de novo no agente.`,
  tooManyConnections: `The account has {limit} connected agents, which is the most. End one first.
    A conta tem {limit} agentes ligados, que é o máximo. Termine primeiro uma ligação.`,
  createKey: ['Create key', 'Criar chave'],
  testKey: ['Test key', 'Chave de teste'],
  createTestKey: ['Create test key', 'Criar chave de teste'],
  testKeyLead: `A test key answers from invented companies, gives each problem at will, and spends no credits.
    Uma chave de teste responde com empresas inventadas, dá cada erro a pedido e não gasta créditos.`,
  tooManyKeys: {
    free: `The 1 key of the plan is in use. Revoke it to create another, or ask for Plus. | The {limit} keys of the plan are in use. Revoke one to create another, or ask for Plus.
      A única chave do plano está em uso. Revogue-a para criar outra, ou peça o plano Plus. | As {limit} chaves do plano estão em uso. Revogue uma para criar outra, ou peça o plano Plus.`,
    plus: `The 1 key is in use: revoke it first. | All {limit} keys are in use: revoke one first.
      A única chave está em uso: revogue-a. | As {limit} chaves estão em uso: revogue uma.`,
    test: `The 1 test key is in use: revoke it. | All {limit} test keys are in use: revoke one.
      Revogue a única chave de teste. | Revogue uma das {limit} chaves de teste.`,
    day: `An account of this plan can create 1 key in 24 hours, and has created it. Try again later. | An account of this plan can create {limit} keys in 24 hours, and has created them. Try again later.
      Uma conta deste plano pode criar 1 chave em 24 horas, e já a criou. Tente de novo mais tarde. | Uma conta deste plano pode criar {limit} chaves em 24 horas, e já as criou. Tente de novo mais tarde.`,
  },
  suspendedRefusal: `Nothing was done, and nothing was charged: this account is suspended.
    Nada foi feito nem cobrado: esta conta está suspensa.`,
  confirmFirst: ['Confirm your email first.', 'Confirme primeiro o seu email.'],
  unnamed: ['Unnamed', 'Sem nome'],
  begins: ['Begins with', 'Começa por'],
  created: ['Created', 'Criada'],
  lastUsed: ['Last used', 'Último uso'],
  never: ['Never', 'Nunca'],
  revoke: ['Revoke', 'Revogar'],
  latest: ['Latest', 'Mais recentes'],
  older: ['Older', 'Anteriores'],
  keyStates: {
    all: ['All', 'Todas'],
    ending: ['Ending within 7 days', 'A terminar dentro de 7 dias'],
    idle: ['Not used for 90 days', 'Sem uso há 90 dias'],
    ended: ['Revoked or expired', 'Revogadas ou expiradas'],
  },
  keySearch: ['Name or beginning of the secret', 'Nome ou início do segredo'],
  keyState: ['State', 'Estado'],
  filter: ['Filter', 'Filtrar'],
  noKeyFound: ['No key matches.', 'Nenhuma chave corresponde.'],
  endedKeys: ['Revoked and expired keys ({count})', 'Chaves revogadas e expiradas ({count})'],
  moreEndedKeys: ['Those that ended earlier are not listed.', 'As que terminaram antes não aparecem.'],
  revokeTitle: ['Revoke “{name}”?', 'Revogar “{name}”?'],
  revokeLead: `Requests with {start}… are refused within 5 seconds, everywhere. This can’t be undone.
    Os pedidos com {start}… são recusados em menos de 5 segundos, em todo o lado. Esta ação é irreversível.`,
  revokeButton: ['Revoke this key', 'Revogar esta chave'],
  keyExpiryInvalid: ['The last day must be today or later.', 'O último dia tem de ser hoje ou depois.'],
  expired: ['Expired', 'Expirada'],
  revoked: ['Revoked', 'Revogada'],
  revokedBy: ['Revoked by', 'Revogada por'],
  keyId: ['Id', 'Identificador'],
  keyUse: ['Use in the last {days} days', 'Utilização nos últimos {days} dias'],
  secrets: ['Secrets', 'Segredos'],
  secret: ['Secret', 'Segredo'],
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
  newExpiry: ['Set a new last day', 'Alterar a validade'],
  newExpiryTitle: ['Until when does “{name}” work?', 'Até quando é válida “{name}”?'],
  expiryHint: ['Its last day, in UTC. Empty: it does not end.', 'O último dia, em UTC. Vazio: não expira.'],
  validUntil: ['Valid until', 'Válida até'],
  /** Of a secret or an invitation, which are masculine in Portuguese. */
  worksUntil: ['Valid until', 'Válido até'],
  oldSecretUntil: ['Old secret until', 'Segredo anterior até'],
  change: ['Change', 'Alterar'],
  rename: ['Rename', 'Renomear'],
  renameTitle: ['Rename “{name}”', 'Renomear “{name}”'],
  rotate: ['Rotate', 'Novo segredo'],
  rotateTitle: ['New secret for “{name}”', 'Novo segredo para “{name}”'],
  rotateLead: `The key stays the same. Give programs the new secret while the current one works.
    A chave mantém-se. Passe a usar o novo segredo enquanto o atual ainda funciona.`,
  overlap: ['The current secret works for', 'O segredo atual funciona durante'],
  overlapNone: ['no longer: it is refused within 5 seconds', 'deixa de funcionar já'],
  notRotated: {
    expired: `The key has expired, so it gets no new secret. Set a new last day first.
      A chave expirou, por isso não recebe um novo segredo. Altere primeiro a validade.`,
    often: `The key has got {limit} new secrets in 24 hours, which is the most. Try again later.
      A chave já recebeu {limit} segredos novos em 24 horas, que é o máximo. Tente de novo mais tarde.`,
    repeated: `This form was sent before, and the key has its new secret. If you lost it, make another.
      Este formulário já tinha sido enviado, e a chave já tem um novo segredo. Se o perdeu, crie outro.`,
  },
  previousUntil: ['The previous secret works until {end}.', 'O segredo anterior funciona até {end}.'],
  newKey: ['Your new secret', 'O seu novo segredo'],
  newKeyLead: ['Copy it now: it is shown only this once.', 'Copie-o agora: só é mostrado desta vez.'],
  newKeyTry: `Try it in a terminal. Every example of the reference reads this variable:
    Experimente num terminal. Todos os exemplos da referência leem esta variável:`,

  creditsTitle: ['Plan and credits', 'Plano e créditos'],
  plansLead: ['Plans', 'Planos'],
  creditsIncluded: ['Included credits a month', 'Créditos incluídos por mês'],
  requestsPerMinute: ['Requests a minute', 'Pedidos por minuto'],
  price: ['Price', 'Preço'],
  yourPlan: ['Your plan', 'O seu plano'],
  ownLimits: `Your own limits. Credits a month: {credits}. Requests a minute: {requests}.
    Os seus limites próprios. Créditos por mês: {credits}. Pedidos por minuto: {requests}.`,
  byHand: `The operator of this service adds credits and changes plans. Name your account number:
    O operador deste serviço carrega créditos e altera planos. Indique o número da sua conta:`,
  creditsEmpty: ['No purchased credits yet', 'Ainda sem créditos comprados'],
  dateUtc: ['Date (UTC)', 'Data (UTC)'],
  now: ['now', 'agora'],
  balance: ['Balance after', 'Saldo após'],
  spentBeyond: ['Beyond the allowance', 'Além dos incluídos'],
  note: ['Note', 'Nota'],

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
  search: ['Search', 'Pesquisar'],
  lookUp: ['Look up NIF', 'Consultar NIF'],
  costs: ['1 credit', '1 crédito'],
  request: ['Request', 'Pedido'],
  answer: ['Answer', 'Resposta'],
  companyCount: ['1 company | {count} companies', '1 empresa | {count} empresas'],
  onlyBeginnings: `Names are searched from their beginning. The words may stand anywhere in a name:
    Os nomes são pesquisados a partir do início. As palavras podem estar em qualquer parte de um nome:`,
  searchWords: ['Search by words', 'Pesquisar por palavras'],
  legalName: ['Legal name', 'Denominação'],
  lookUpOne: ['Look up', 'Consultar'],
  noCreditSpent: ['no credit spent', 'nenhum crédito gasto'],
  took: ['Took {ms} ms', 'Demorou {ms} ms'],
  headersAndJson: ['Headers and JSON', 'Cabeçalhos e JSON'],
  address: ['Address', 'Morada'],
  activity: ['Activity', 'Atividade'],
  companyStatus: ['Status', 'Situação'],
  legalNature: ['Legal nature', 'Natureza jurídica'],
  capital: ['Share capital', 'Capital social'],
  noBracket: ['no bracket in the dataset', 'sem escalão nos dados'],
  bracket: ['{start} to {end}', '{start} a {end}'],
  openBracket: ['{start} or more', '{start} ou mais'],

  screenTitle: ['Screen a list for debts', 'Verificar as dívidas de uma lista'],
  screenLead: `Each company costs 1 credit. Credits left: {available}. You see the price first. Lists are not stored.
    Cada empresa custa 1 crédito. Créditos disponíveis: {available}. Verá primeiro o preço. As listas não são guardadas.`,
  screenLabel: ['NIFs, at most {max}', 'NIF, no máximo {max}'],
  screenHint: `One on each line, or rows of a table: every number of nine digits is read.
    Um por linha, ou linhas de uma tabela: lê-se cada número de nove algarismos.`,
  screenWorkbook: `This is a workbook. Save it as CSV in your spreadsheet, and choose that file.
    Isto é um livro de folha de cálculo. Guarde-o como CSV e escolha esse ficheiro.`,
  screenFile: ['Or a file', 'Ou um ficheiro'],
  screenFileHint: [
    'Text or CSV. Its rows go into the field above.',
    'Texto ou CSV. As linhas vão para o campo acima.',
  ],
  screenRead: ['Read the list', 'Ler a lista'],
  screenNone: `No NIF found: nine digits with a right check digit. Save tables as CSV. Nothing was charged.
    Nenhum NIF: nove algarismos, o último de controlo. Guarde tabelas em CSV. Nada foi cobrado.`,
  screenTooMany: `It has {count} NIFs, and one list {max} at most: screen it in parts. Nothing was charged.
    Tem {count} NIF, e cada lista no máximo {max}: verifique-a por partes. Nada foi cobrado.`,
  screenPrice: `1 company costs 1 credit. | {count} companies cost {count} credits.
    1 empresa custa 1 crédito. | {count} empresas custam {count} créditos.`,
  screenRows: ['1 row | {count} rows', '1 linha | {count} linhas'],
  screenCompanies: ['1 company | {count} companies', '1 empresa | {count} empresas'],
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
    without: ['No bracket', 'Sem escalão'],
    unpaid: ['Not screened, not charged', 'Não verificada, não cobrada'],
  },
  screenResolve: `Find 1 name: 1 credit | Find {count} names: 1 to {count} credits
    Procurar 1 nome: 1 crédito | Procurar {count} nomes: de 1 a {count} créditos`,
  screenCandidates: ['Companies with this name', 'Empresas com este nome'],
  screenNoCandidate: ['None found', 'Nenhuma encontrada'],
  screenChoose: ['None of these', 'Nenhuma destas'],
  screenClear: ['Clear', 'Sem dúvida'],
  screenTake: `Choose, and read the list again: the NIFs go behind their names.
    Escolha e volte a ler a lista: os NIF ficam a seguir aos nomes.`,
  screenAtLeast: [
    'Nothing was found. A request costs at least 1.',
    'Nada foi encontrado. Um pedido custa pelo menos 1.',
  ],
  screenReadChosen: ['Read the list with these NIFs', 'Ler a lista com estes NIF'],
  screenUnknown: ['not in the directory', 'fora do diretório'],
  screenFrom: ['from', 'de'],
  screenTo: ['to', 'a'],
  screenFileName: ['debts.csv', 'dividas.csv'],
  screenShort: ['Your credits suffice for the first {left}.', 'Os seus créditos chegam para {left}.'],
  screenNoCredits: ['You have no credits left to screen it.', 'Não tem créditos para a verificar.'],
  screenLate: `You screened this list over ten minutes ago, so it costs again. Nothing was charged now.
    Verificou esta lista há mais de dez minutos, por isso volta a custar. Agora nada foi cobrado.`,
  screenRun: `Screen 1 company | Screen {count} companies
    Verificar 1 empresa | Verificar {count} empresas`,
  creditCount: ['1 credit | {count} credits', '1 crédito | {count} créditos'],
  screenFound: `On a list of debtors: {found} of {count}
    Numa lista de devedores: {found} de {count}`,
  creditsSpent: ['1 credit spent | {count} credits spent', '1 crédito gasto | {count} créditos gastos'],
  screenAgain: ['No credit spent: this list was charged before', 'Nenhum crédito gasto: lista já cobrada'],
  screenFree: `Until {time} (UTC), a reload or the same list costs nothing. Download it to keep it.
    Até {time} (UTC), recarregar a página ou repetir a lista não custa nada. Descarregue-a para a guardar.`,
  screenAbsent: `without a bracket is not “no debt”: the list has debts above a threshold only. List of
    sem escalão não é “sem dívidas”: a lista só tem dívidas acima de um limiar. Lista de`,
  screenMissing: `this list was never imported here. An absent bracket says nothing.
    esta lista nunca foi importada aqui. A falta de escalão nada diz.`,
  screenRefused: `Not screened, because the credits did not suffice, and not charged: {count}.
    Por verificar, porque os créditos não chegaram, e não cobradas: {count}.`,
  screenRest: `Screen the other company | Screen the other {count} companies
    Verificar a outra empresa | Verificar as outras {count} empresas`,

  signedInAs: ['Signed in as', 'Sessão iniciada como'],
  changePassword: ['Change the password', 'Alterar a palavra-passe'],
  changeName: ['Change the name', 'Alterar o nome'],
  changeEmail: ['Change the email', 'Alterar o email'],
  newEmail: ['New email', 'Novo email'],
  newEmailHint: ['A link that we send there confirms it.', 'Confirma-se por uma ligação que enviamos.'],
  newEmailLead: ['Sign in as {email} from now on.', 'A partir de agora vai iniciar sessão com {email}.'],
  emailSame: ['That is your email already.', 'Esse já é o seu email.'],
  changeEmailNoMail: `This service sends no mail. Have its operator invite the new address.
    Este serviço não envia emails. Peça ao operador que convide o novo endereço.`,
  secondFactor: ['Second factor', 'Segundo fator'],
  on: ['On', 'Ativo'],
  off: ['Off', 'Inativo'],
  secondFactorLead: `Sign-ins then also ask for a code of an authenticator app. Your other sessions end.
    O início de sessão passa a pedir também um código de uma aplicação. As suas outras sessões terminam.`,
  secondFactorRequired: `Owners of an account need a second factor here. Set it up to go on.
    Aqui os proprietários de uma conta precisam de um segundo fator. Configure-o para continuar.`,
  secondFactorOn: `On: a sign-in asks for a code of your authenticator app.
    Ativo: o início de sessão pede um código da sua aplicação de autenticação.`,
  setUp: ['Set up the second factor', 'Configurar o segundo fator'],
  scanLead: `Scan this picture with an authenticator app, or type the secret into it.
    Leia esta imagem com uma aplicação de autenticação, ou escreva nela o segredo.`,
  scanLabel: ['QR code with the secret', 'Código QR com o segredo'],
  openApp: ['Open an app on this device', 'Abrir uma aplicação neste dispositivo'],
  secretLabel: ['Secret for the app', 'Segredo para a aplicação'],
  backupCodes: ['Backup codes', 'Códigos de recuperação'],
  backupCodesLead: `Each replaces a code of the app once: keep them elsewhere. They are shown only now.
    Cada um substitui uma vez um código da aplicação: guarde-os noutro sítio. Só são mostrados agora.`,
  backupCodesLeft: `1 backup code is left. | {count} backup codes are left.
    Resta 1 código de recuperação. | Restam {count} códigos de recuperação.`,
  backupCodesFile: ['backup-codes.txt', 'codigos-de-recuperacao.txt'],
  download: ['Download', 'Descarregar'],
  print: ['Print', 'Imprimir'],
  backupCodesKept: ['I have kept them', 'Já os guardei'],
  newBackupCodes: ['New backup codes', 'Novos códigos de recuperação'],
  newBackupCodesLead: ['Those that you have now stop working.', 'Os códigos atuais deixam de funcionar.'],
  secondFactorOffTitle: ['Turn off the second factor', 'Desativar o segundo fator'],
  secondFactorOffLead: `A sign-in asks for your password only then. Your other sessions end.
    O início de sessão passa a pedir só a palavra-passe. As suas outras sessões terminam.`,
  code: ['Code', 'Código'],
  codeTitle: ['Enter the code', 'Introduza o código'],
  codeHint: ['The six digits that the app shows now.', 'Os seis algarismos que a aplicação mostra agora.'],
  codeOrBackupHint: `The six digits of your app, or a backup code. Without either, ask the operator.
    Os seis algarismos da aplicação, ou um código de recuperação. Sem nenhum, contacte o operador.`,
  codeWrong: `The code is wrong, too old or used. Wait for the next one.
    O código está errado, é antigo ou já foi usado. Espere pelo seguinte.`,
  backupCode: ['Backup code', 'Código de recuperação'],
  backupCodeTitle: ['Enter a backup code', 'Introduza um código de recuperação'],
  backupCodeHint: [
    'One of the ten that you kept. Each works once.',
    'Um dos dez que guardou. Cada um serve uma vez.',
  ],
  backupCodeWrong: `That is none of your backup codes that are left: ten letters and digits, each code once.
    Não é nenhum dos códigos de recuperação que restam: dez letras e algarismos, cada código uma só vez.`,
  useBackupCode: ['Use a backup code', 'Usar um código de recuperação'],
  useApp: ['Use the code of the app', 'Usar o código da aplicação'],
  codesLost: [
    'Without app and codes, ask the operator.',
    'Sem a aplicação nem os códigos, contacte o operador.',
  ],
  codeStartAgain: ['Start again', 'Começar de novo'],
  access: ['Access', 'Acesso'],
  members: ['Members', 'Membros'],
  membersLead: `Owners invite and remove members, change roles, and rename and delete the account.
    Os proprietários convidam e removem membros, alteram as funções e o nome da conta, e eliminam-na.`,
  inviteNoMail: `This service sends no mail. To invite another member, ask its operator{contact}.
    Este serviço não envia emails. Para convidar outro membro, peça ao operador{contact}.`,
  role: ['Role', 'Função'],
  roles: {
    owner: ['Owner', 'Proprietário'],
    member: ['Member', 'Membro'],
  },
  invite: ['Invite a member', 'Convidar um membro'],
  isMember: ['This address is of a member.', 'Este endereço já é de um membro.'],
  inviteSuspended: ['A suspended account invites nobody.', 'Uma conta suspensa não pode convidar ninguém.'],
  changeRole: ['Change the role', 'Alterar a função'],
  changeAccountName: ['Rename the account', 'Alterar o nome da conta'],
  accountNameHint: ['Members see it here and in mails.', 'Os membros veem-no aqui e nos emails.'],
  tooManyMembers: `The account has 100 members and pending invitations, which is the most. Remove one first.
    A conta tem 100 membros e convites pendentes, que é o máximo. Remova um primeiro.`,
  pendingInvitations: ['Pending invitations', 'Convites pendentes'],
  withdraw: ['Withdraw', 'Retirar'],
  ownersOnly: ['Only an owner can do this', 'Só um proprietário o pode fazer'],
  ownersOnlyLead: ['Ask an owner: the page of members names them.', 'A página dos membros indica quem são.'],
  leaveTitle: ['Leave this account?', 'Sair desta conta?'],
  leaveLead: `Your password and your sessions end. API keys go on working. You can be invited again.
    A palavra-passe e as sessões terminam. As chaves continuam a funcionar. Pode receber outro convite.`,
  leave: ['Leave', 'Sair da conta'],
  memberSince: ['Since', 'Desde'],
  lastSignIn: ['Last sign-in', 'Última sessão'],
  removeMember: ['Remove', 'Remover'],
  removeTitle: ['Remove this member?', 'Remover este membro?'],
  removeLead: `They no longer see this account. API keys go on working: revoke those that they know.
    Essa pessoa deixa de ver esta conta. As chaves continuam a funcionar: revogue as que ela conhece.`,
  lastMember: `This is the last owner. Make another member an owner first, or delete the account.
    É o último proprietário. Torne primeiro outro membro proprietário, ou elimine a conta.`,
  sessions: ['Signed-in devices', 'Sessões ativas'],
  sessionsLead: ['IPv6 addresses show only the network.', 'Dos endereços IPv6 só se mostra a rede.'],
  browser: ['Browser', 'Navegador'],
  unknownBrowser: ['Unknown browser', 'Navegador desconhecido'],
  signedInSince: ['Signed in', 'Início'],
  ipAddress: ['Address', 'Endereço'],
  thisSession: ['This one', 'Esta sessão'],
  endSessions: ['Sign out the others', 'Terminar as outras sessões'],
  dataTitle: ['Your data', 'Os seus dados'],
  accountHistory: ['Account history', 'Histórico da conta'],
  exportAccount: ['Download the data of this account (JSON)', 'Descarregar os dados desta conta (JSON)'],
  deleteAccount: ['Delete this account', 'Eliminar esta conta'],
  deleteTitle: ['Delete “{name}”?', 'Eliminar “{name}”?'],
  deleteLead: `Its keys are refused within 5 seconds. Members and names are removed. This can’t be undone.
    As chaves são recusadas em menos de 5 segundos. Membros e nomes são removidos. Esta ação é irreversível.`,
  deleteCredits: `Credits that are lost: {left}, of these purchased: {purchased}.
    Créditos que se perdem: {left}, dos quais comprados: {purchased}.`,
  deleteName: ['The name of the account', 'O nome da conta'],
  wrongAccountName: ['That is not the name of the account.', 'Esse não é o nome da conta.'],
  event: ['Event', 'Evento'],
  localTime: ['local time', 'hora local'],
  timesUtc: ['Times are in UTC.', 'As horas são em UTC.'],
  by: ['By', 'Por'],
  byYou: ['You', 'Eu'],
  byMember: ['A member', 'Um membro'],
  byOperator: ['Operator', 'Operador'],
  events: {
    created: ['Account created', 'Conta criada'],
    plan: ['Plan changed', 'Plano alterado'],
    limits: ['Limits changed', 'Limites alterados'],
    credits: ['Purchased credits', 'Créditos comprados'],
    suspended: ['Account suspended', 'Conta suspensa'],
    resumed: ['Account resumed', 'Conta reativada'],
    deleted: ['Account deleted', 'Conta eliminada'],
    'key-created': ['Key created', 'Chave criada'],
    'key-rotated': ['Key rotated', 'Segredo substituído'],
    'key-renamed': ['Key renamed', 'Nome da chave alterado'],
    'key-revoked': ['Key revoked', 'Chave revogada'],
    'key-expiry-changed': ['End of a key changed', 'Validade da chave alterada'],
    'key-limited': ['Limits of a key changed', 'Limites de uma chave alterados'],
    'connection-created': ['Agent connected', 'Agente ligado'],
    'key-secret-ended': ['Old secret ended', 'Segredo anterior terminado'],
    'member-invited': ['Member invited', 'Membro convidado'],
    'invitation-withdrawn': ['Invitation withdrawn', 'Convite retirado'],
    'member-added': ['Member joined', 'Membro entrou na conta'],
    'member-removed': ['Member removed', 'Membro removido'],
    'signed-in': ['Signed in', 'Início de sessão'],
    'sessions-ended': ['Signed out on other devices', 'Outras sessões terminadas'],
    'password-changed': ['Password changed', 'Palavra-passe alterada'],
    'second-factor-on': ['Second factor turned on', 'Segundo fator ativado'],
    'second-factor-off': ['Second factor turned off', 'Segundo fator desativado'],
    'role-changed': ['Role of a member changed', 'Função de um membro alterada'],
    'account-renamed': ['Account renamed', 'Nome da conta alterado'],
    'name-changed': ['Name changed', 'Nome alterado'],
    'email-changed': ['Email changed', 'Email alterado'],
  },
  turnOn: ['Turn on', 'Ativar'],
  turnOff: ['Turn off', 'Desativar'],
  spending: ['Spend purchased credits', 'Gastar créditos comprados'],
  spendingOn: `On: when the credits of the plan are used, purchased ones pay for more requests.
    Ativo: quando os créditos do plano acabam, os comprados pagam os pedidos seguintes.`,
  spendingOff: `Off: when the credits of the plan are used, requests are refused. Purchased credits stay.
    Inativo: quando os créditos do plano acabam, os pedidos são recusados. Os créditos comprados ficam.`,
  spendingStops: `The included credits are used. If you turn this off, requests are refused until {until}.
    Os créditos incluídos acabaram. Se desativar, os pedidos são recusados até {until}.`,
  alerts: ['Mails about usage, plan and keys', 'Emails sobre a utilização, o plano e as chaves'],
  alertsOn: `On: at 80% and 100% of the plan’s credits, when a key has spent its budget (not of a day), and before and when the plan or a key ends.
    Ativo: aos 80% e 100% dos créditos do plano, quando uma chave gastou o seu orçamento (exceto o diário), e antes e no fim do plano ou de uma chave.`,
  alertsOff: ['Off: you get none of these mails.', 'Inativo: não recebe estes emails.'],

  /** The success of a form, by the address that its redirect leads to. */
  done: {
    '?done=confirmed': ['Your address is confirmed.', 'O seu endereço está confirmado.'],
    '/sign-in?done=confirmed': ['Your address is confirmed.', 'O seu endereço está confirmado.'],
    '/sign-in?done=email-changed': ['Your email is changed.', 'O seu email foi alterado.'],
    '/forgot?done=sent': `If this address has an account, the link is on its way, unless it had five this hour.
      Se este endereço tiver uma conta, a ligação vai a caminho, salvo se já recebeu cinco nesta hora.`,
    '/sign-in?done=out': ['You are signed out.', 'Terminou a sessão.'],
    '/sign-in?done=password': ['Sign in with your new password.', 'Inicie sessão com a nova palavra-passe.'],
    '/sign-in?done=left': ['You have left the account.', 'Saiu da conta.'],
    '/sign-in?done=deleted': ['The account is deleted.', 'A conta foi eliminada.'],
    '/sign-in?done=code-ended': `The code was not given in time, or was wrong too often. Sign in again.
      O código não foi dado a tempo, ou esteve errado demasiadas vezes. Inicie sessão de novo.`,
    '/settings/second-factor?done=on': `The second factor is on. Other devices are signed out.
      O segundo fator está ativo. As sessões noutros dispositivos terminaram.`,
    '/settings/second-factor?done=off': `The second factor is off. Other devices are signed out.
      O segundo fator está inativo. As sessões noutros dispositivos terminaram.`,
    '/keys?done=revoked': ['The key is revoked.', 'A chave foi revogada.'],
    '/settings?done=saved': ['Saved.', 'Guardado.'],
    '/credits?done=saved': ['Saved.', 'Guardado.'],
    '/settings?done=sent': `The link is on its way, unless your address had five this hour.
      A ligação vai a caminho, salvo se o seu endereço já recebeu cinco nesta hora.`,
    '/settings?done=new-password': `The password is changed. Other devices are signed out.
      A palavra-passe foi alterada. As sessões noutros dispositivos terminaram.`,
    '/settings?done=email': `We sent a link to the new address. Open it within an hour.
      Enviámos uma ligação para o novo endereço. Abra-a dentro de uma hora.`,
    '/settings?done=email-changed': ['Your email is changed.', 'O seu email foi alterado.'],
    '/keys?done=saved': ['Saved.', 'Guardado.'],
    '/settings/members?done=removed': ['The member is removed.', 'O membro foi removido.'],
    '/settings/members?done=invited': `The invitation is on its way. Its link works for 7 days.
      O convite vai a caminho. A ligação é válida durante 7 dias.`,
    '/settings/members?done=role': ['The role is changed.', 'A função foi alterada.'],
    '/settings/members?done=withdrawn': ['The invitation is withdrawn.', 'O convite foi retirado.'],
    '/settings?done=ended': ['You are signed out everywhere else.', 'Terminou as outras sessões.'],
  },

  formExpired: ['This form is out of date', 'Este formulário caducou'],
  formExpiredLead: `It was left open too long, or sent from another page. Open it again.
    Ficou aberto demasiado tempo, ou foi enviado de outra página. Abra-o de novo.`,
  sentAlready: `This form was sent already, and its key was created. If you lost the secret, revoke that key.
    Este formulário já foi enviado, e a chave foi criada. Se perdeu o segredo, revogue essa chave.`,
  triedAlready: `This form was sent already, and charged once. Send it again for another request.
    Este formulário já foi enviado e cobrado uma vez. Envie-o de novo para outro pedido.`,
  formTooLarge: `The form is larger than {max} KiB. Nothing was done or charged: send less of it.
    O formulário tem mais de {max} KiB. Nada foi feito nem cobrado: envie menos.`,
  formTooManyFields: `The form has too many fields. Nothing was done or charged.
    O formulário tem demasiados campos. Nada foi feito nem cobrado.`,
  reloadToSend: [
    'Reload this page to send the form again.',
    'Recarregue esta página para reenviar o formulário.',
  ],
  formTooSlow: ['The form arrived too slowly. Send it again.', 'O formulário chegou tarde. Envie-o de novo.'],
  wrongAddress: `This service is set up for {address}. Open the dashboard there.
    Este serviço está configurado para {address}. Abra o painel nesse endereço.`,
  notFound: ['There is nothing here', 'Não há nada aqui'],
  notFoundLead: ['The page is gone, or it isn’t yours.', 'A página já não existe, ou não é sua.'],
  failed: ['That did not work', 'Não foi possível'],
  tryAgain: ['Try again in a moment.', 'Tente de novo dentro de momentos.'],
  busy: ['The dashboard is busy', 'O painel está ocupado'],
  tooManyRequests: ['Too many requests', 'Demasiados pedidos'],
  tooManyRequestsLead: `You sent many requests within a minute. Nothing was charged. Wait a few seconds.
    Enviou muitos pedidos num minuto. Nada foi cobrado. Espere uns segundos.`,
  retry: ['Try again', 'Tentar de novo'],
  chargedPerhaps: `The request was made before, and may have been charged. A list is free for ten minutes.
    O pedido foi feito antes, e pode ter sido cobrado. Uma lista não volta a custar durante dez minutos.`,
  keptList: `Your list. It is in the field again when you have signed in here; without scripts, copy it.
    A sua lista. Volta ao campo quando iniciar sessão aqui; sem scripts, copie-a.`,
  ownList: ['Your list', 'A sua lista'],
  back: ['Back to the dashboard', 'Voltar ao painel'],
  ...MAIL_TEXTS,
} as const satisfies Texts & { events: Record<EventKind, [string, string]> };

export type Messages = InOne<typeof TEXTS> & {
  language: Language;
  /** The `lang` of a page. */
  lang: string;
};

export const MESSAGES: Record<Language, Messages> = {
  en: { ...inLanguage(TEXTS, 0), language: 'en', lang: 'en' },
  pt: { ...inLanguage(TEXTS, 1), language: 'pt', lang: 'pt-PT' },
};
