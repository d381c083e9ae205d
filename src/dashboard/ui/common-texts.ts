import type { Texts } from './in-language.ts';

/** The texts that several rooms of the dashboard use. Those of one room are in its `…-texts.ts`. */
export const COMMON_TEXTS = {
  brand: ['Company Directory', 'Diretório de Empresas'],
  aboutLead: `Find Portuguese companies by name or NIF, read their details, and check them for tax and social security debts.
    Encontre empresas portuguesas pelo nome ou NIF, consulte os seus dados e saiba se têm dívidas fiscais ou à Segurança Social.`,
  account: ['Account', 'Conta'],
  overview: ['Overview', 'Resumo'],
  keys: ['API keys', 'Chaves'],
  tryIt: ['Try it', 'Experimentar'],
  credits: ['Credits', 'Créditos'],
  settings: ['Settings', 'Definições'],
  reference: ['API reference', 'Referência da API'],
  contact: ['Contact', 'Contacto'],
  privacy: ['Privacy notice', 'Privacidade'],
  terms: ['Terms of use', 'Termos de utilização'],
  status: ['Service status', 'Estado do serviço'],
  referenceShort: ['Reference', 'Referência'],
  dashboard: ['Dashboard', 'Painel'],
  kind: ['Kind', 'Tipo'],
  member: ['Member', 'Membro'],
  cancel: ['Cancel', 'Cancelar'],
  copy: ['Copy', 'Copiar'],
  copied: ['Copied ✓', 'Copiado ✓'],

  signIn: ['Sign in', 'Iniciar sessão'],
  signUp: ['Create an account', 'Criar conta'],
  closed: ['New accounts are by invitation of the operator.', 'As contas novas são por convite do operador.'],
  name: ['Name', 'Nome'],
  nameHint: ['Yours, or your company’s.', 'O seu, ou o da sua empresa.'],
  email: ['Email', 'Email'],
  password: ['Password', 'Palavra-passe'],
  newPassword: ['New password', 'Nova palavra-passe'],
  presentPassword: ['Current password', 'Palavra-passe atual'],
  sendLink: ['Send the link', 'Enviar a ligação'],
  resetTitle: ['Choose a new password', 'Escolha uma nova palavra-passe'],
  save: ['Save', 'Guardar'],
  confirmTitle: ['Confirm your email', 'Confirme o seu email'],
  confirmAgain: ['Send it again', 'Enviar de novo'],
  wrongPassword: ['The current password is wrong.', 'A palavra-passe atual está errada.'],
  emailInvalid: ['Write an address like name@example.com.', 'Escreva um endereço como nome@exemplo.pt.'],

  suspendedReason: ['Reason: {reason}', 'Motivo: {reason}'],
  refusedRequests: `Refused requests since yesterday: {requests}.
    Pedidos recusados desde ontem: {requests}.`,
  openKey: ['See the key', 'Ver a chave'],
  keysEndSoon: `1 key that is in use ends within 7 days. | {count} keys that are in use end within 7 days.
    1 chave em uso termina nos próximos 7 dias. | {count} chaves em uso terminam nos próximos 7 dias.`,
  openKeys: ['See the keys', 'Ver as chaves'],
  buyCredits: ['Buy credits', 'Comprar créditos'],
  getMore: ['How to get more credits', 'Como obter mais créditos'],
  plan: ['Plan', 'Plano'],
  plans: {
    free: ['Free', 'Gratuito'],
    plus: ['Plus', 'Plus'],
  },
  isSuspended: ['Suspended', 'Suspensa'],
  reset: ['Resets', 'Renovação'],
  ends: ['Ends', 'Termina'],
  history: ['Credit history', 'Histórico de créditos'],
  keysInUse: ['of {limit} in use', 'de {limit} em uso'],
  days: ['{days} days', '{days} dias'],
  show: ['Show', 'Mostrar'],
  day: ['Day', 'Dia'],
  csv: ['Download as CSV', 'Descarregar CSV'],
  errorKinds: {
    'rate-limit-exceeded': ['Too many requests in a minute (429)', 'Demasiados pedidos num minuto (429)'],
    'monthly-quota-exceeded': ['No credits left (429)', 'Sem créditos (429)'],
    'key-limits': ['Limits of a key (403, 429)', 'Limites de uma chave (403, 429)'],
    '4xx': `Not valid, not found or expired (400, 404, 410)
      Inválidos, não encontrados ou expirados (400, 404, 410)`,
    '5xx': ['Failed here (500 to 503)', 'Falhas do serviço (500 a 503)'],
    '401': ['Key or secret had ended (401)', 'Chave ou segredo já sem validade (401)'],
  },

  all: ['Any', 'Qualquer'],
  key: ['Key', 'Chave'],
  endpoint: ['Endpoint or tool', 'Operação ou ferramenta'],
  outcome: ['Outcome', 'Resultado'],

  dataTax: ['Tax debts', 'Dívidas fiscais'],
  dataSocialSecurity: ['Social security debts', 'Dívidas à Segurança Social'],
  dataOf: ['as of', 'à data de'],
  dataNone: ['not imported', 'por importar'],
  connections: ['Connected agents', 'Agentes ligados'],
  client: ['Agent of', 'Agente de'],
  clientCalls: ['It calls itself', 'Identifica-se como'],
  clientSendsTo: ['Sends you back to', 'Encaminha para'],
  clientUnknown: ['an unchecked program', 'um programa não verificado'],
  suspendedRefusal: `Nothing was done, and nothing was charged: this account is suspended.
    Nada foi feito nem cobrado: esta conta está suspensa.`,
  unnamed: ['Unnamed', 'Sem nome'],
  lastUsed: ['Last used', 'Último uso'],
  filter: ['Filter', 'Filtrar'],
  expired: ['Expired', 'Expirada'],
  revoked: ['Revoked', 'Revogada'],
  keyId: ['Id', 'Identificador'],
  secret: ['Secret', 'Segredo'],
  /** Of a secret or an invitation, which are masculine in Portuguese. */
  worksUntil: ['Valid until', 'Válido até'],
  change: ['Change', 'Alterar'],

  creditsTitle: ['Plan and credits', 'Plano e créditos'],
  price: ['Price', 'Preço'],
  dateUtc: ['Date (UTC)', 'Data (UTC)'],
  now: ['now', 'agora'],
  note: ['Note', 'Nota'],
  search: ['Search', 'Pesquisar'],
  costs: ['1 credit', '1 crédito'],
  request: ['Request', 'Pedido'],
  answer: ['Answer', 'Resposta'],
  companyCount: ['1 company | {count} companies', '1 empresa | {count} empresas'],
  activity: ['Activity', 'Atividade'],

  signedInAs: ['Signed in as', 'Sessão iniciada como'],
  secondFactor: ['Second factor', 'Segundo fator'],
  on: ['On', 'Ativo'],
  off: ['Off', 'Inativo'],
  code: ['Code', 'Código'],
  role: ['Role', 'Função'],
  lastSignIn: ['Last sign-in', 'Última sessão'],
  ipAddress: ['Address', 'Endereço'],
  by: ['By', 'Por'],
  requestsPerMinute: ['Requests a minute', 'Pedidos por minuto'],
  byYou: ['You', 'Eu'],
  byMember: ['A member', 'Um membro'],
  byOperator: ['Operator', 'Operador'],
  turnOn: ['Turn on', 'Ativar'],
  turnOff: ['Turn off', 'Desativar'],
  spending: ['Spend purchased credits', 'Gastar créditos comprados'],

  /** The success of a form, by the address that its redirect leads to. */
  done: {
    '?done=confirmed': ['Your address is confirmed.', 'O seu endereço está confirmado.'],
    '/sign-in?done=email-changed': ['Your email is changed.', 'O seu email foi alterado.'],
    '/forgot?done=sent': `If this address has an account, the link is on its way, unless five were sent this hour.
      Se este endereço tiver uma conta, a ligação vai a caminho, salvo se já foram enviadas cinco nesta hora.`,
    '/sign-in?done=out': ['You are signed out.', 'Terminou a sessão.'],
    '/sign-in?done=password': ['Sign in with your new password.', 'Inicie sessão com a nova palavra-passe.'],
    '/sign-in?done=left': ['You have left the account.', 'Abandonou a conta.'],
    '/sign-in?done=deleted': ['The account is deleted.', 'A conta foi eliminada.'],
    '/sign-in?done=code-ended': `The code was not given in time, or was wrong too often. Sign in again.
      O código não foi introduzido a tempo, ou estava errado demasiadas vezes. Inicie sessão de novo.`,
    '/settings/second-factor?done=on': `The second factor is on. Other devices are signed out.
      O segundo fator está ativo. As sessões noutros dispositivos terminaram.`,
    '/settings?done=off': `The second factor is off. Other devices are signed out.
      O segundo fator está inativo. As sessões noutros dispositivos terminaram.`,
    '/keys?done=revoked': ['The key is revoked.', 'A chave foi revogada.'],
    '/settings?done=saved': ['Saved.', 'Guardado.'],
    '/credits?done=saved': ['Saved.', 'Guardado.'],
    '/settings?done=new-password': `The password is changed. Other devices are signed out.
      A palavra-passe foi alterada. As sessões noutros dispositivos terminaram.`,
    '/settings?done=email': `We sent a link to the new address. Open it within an hour.
      Enviámos uma ligação para o novo endereço. Abra-a no prazo de uma hora.`,
    '/settings?done=email-changed': ['Your email is changed.', 'O seu email foi alterado.'],
    '/keys/:id?done=saved': ['Saved.', 'Guardado.'],
    '/keys?done=ended': ['The connection has ended.', 'A ligação terminou.'],
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
  wrongAddress: `This service is set up for {address}. Open the dashboard there.
    Este serviço está configurado para {address}. Abra o painel nesse endereço.`,
  notFound: ['There is nothing here', 'Não há nada aqui'],
  notFoundLead: ['The page is gone, or it isn’t yours.', 'A página já não existe, ou não é sua.'],
  failed: ['That did not work', 'Não foi possível'],
  busy: ['The dashboard is busy', 'O painel está ocupado'],
  tooManyRequests: ['Too many requests', 'Demasiados pedidos'],
  retry: ['Try again', 'Tentar de novo'],

  legalName: ['Legal name', 'Denominação'],
  creditsSpent: ['1 credit spent | {count} credits spent', '1 crédito gasto | {count} créditos gastos'],

  /** Of the frame of pages, of forms and of refused requests. */
  skip: ['Skip to content', 'Ir para o conteúdo'],
  menu: ['Menu', 'Menu'],
  screen: ['Screen a list', 'Verificar lista'],
  otherLanguage: ['Português', 'English'],
  signOut: ['Sign out', 'Sair'],
  signedOut: ['You were signed out', 'A sua sessão terminou'],
  signedOutLead: `Nothing was changed. Sign in to send the form again.
    Nada mudou. Inicie sessão e volte a enviar o formulário.`,
  pressCopy: ['Press Ctrl+C', 'Prima Ctrl+C'],
  hidePassword: ['Hide', 'Ocultar'],
  passwordHint: ['At least {min} characters.', 'Pelo menos {min} caracteres.'],
  nameInvalid: ['Write a name of 1 to 200 characters.', 'Escreva um nome de 1 a 200 caracteres.'],
  passwordInvalid: ['A password has {min} to {max} characters.', 'Deve ter de {min} a {max} caracteres.'],
  passwordCommon: `This password is too common: it is among the first that are guessed. Choose another.
    Esta palavra-passe é demasiado comum: é das primeiras a ser adivinhadas. Escolha outra.`,
  passwordKnown: `Too similar to your email, your name or the name of this service. Choose another.
    Demasiado parecida com o seu email, o seu nome ou o nome deste serviço. Escolha outra.`,
  tooMany: ['Too many attempts. Try again in {wait}.', 'Demasiadas tentativas. Espere {wait}.'],
  ownersOnly: ['Only an owner can do this', 'Só um proprietário o pode fazer'],
  ownersOnlyLead: ['Ask an owner: the Members page lists them.', 'A página dos membros indica quem são.'],
  localTime: ['local time', 'hora local'],
  formTooLarge: `The form is larger than {max} KiB. Nothing was done or charged: send less of it.
    O formulário tem mais de {max} KiB. Nada foi feito nem cobrado: envie menos.`,
  formTooManyFields: `The form has too many fields. Nothing was done or charged.
    O formulário tem demasiados campos. Nada foi feito nem cobrado.`,
  reloadToSend: `Reload this page to send the form again.
    Recarregue esta página para reenviar o formulário.`,
  formTooSlow: `The form arrived too slowly. Send it again.
    O formulário demorou demasiado a chegar. Envie-o de novo.`,
  tryAgain: ['Try again in a moment.', 'Tente de novo dentro de momentos.'],
  tooManyRequestsLead: `You sent many requests within a minute. Nothing was charged. Wait a few seconds.
    Enviou muitos pedidos num minuto. Nada foi cobrado. Espere uns segundos.`,
  chargedPerhaps: `The request was made before, and may have been charged. A list is free for ten minutes.
    O pedido foi feito antes, e pode ter sido cobrado. Durante dez minutos, a mesma lista não volta a ser cobrada.`,
  keptList: `Your list. It is in the field again when you have signed in here; without scripts, copy it.
    A sua lista. Volta ao campo quando iniciar sessão aqui; sem scripts, copie-a.`,
  ownList: ['Your list', 'A sua lista'],
  back: ['Back to the dashboard', 'Voltar ao painel'],
} as const satisfies Texts;
