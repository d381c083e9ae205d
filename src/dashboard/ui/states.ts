/**
 * The states of an account, a key and the service, as pages tell them in both languages: what happened and since when, what it
 * costs, and what to do next. MESSAGES has them as `states`.
 */

const REFUSED_TEXT = `Requests are refused with status 429 until {until}. That costs nothing.
  Os pedidos são recusados com o código 429 até {until}. Isso não custa nada.`;
const KEY_REFUSED_TEXT = `Requests with it are refused, and cost nothing.
  Os pedidos com ela são recusados e não custam nada.`;

export const STATE_TEXTS = {
  low: {
    happened: `{percent}% of the included credits are used: {used} of {limit} since {start}.
      {percent}% dos créditos incluídos estão usados: {used} de {limit} desde {start}.`,
    cost: ['Prices stay the same.', 'Os preços não mudam.'],
    next: ['The credits are renewed on {end}.', 'Os créditos renovam-se em {end}.'],
  },
  beyond: {
    happened: `All included credits of the period since {start} are used.
      Os créditos incluídos no período desde {start} acabaram.`,
    cost: `Requests now spend purchased credits: {purchased} left.
      Os pedidos gastam agora créditos comprados (saldo: {purchased}).`,
    next: ['The included ones are renewed on {end}.', 'Os incluídos renovam-se em {end}.'],
  },
  purchasedOnly: {
    happened: ['{purchased} of them beyond the allowance.', '{purchased} além dos incluídos.'],
    cost: ['Each was paid with a purchased credit.', 'Cada um foi pago com um crédito comprado.'],
    next: ['Nothing needs to be done now.', 'De momento não precisa de fazer nada.'],
  },
  none: {
    happened: ['No credits left in the period since {start}.', 'Sem créditos no período desde {start}.'],
    cost: REFUSED_TEXT,
    next: ['Get more credits, or wait until then.', 'Obtenha mais créditos, ou espere até lá.'],
  },
  noneIncluded: {
    happened: `No purchased credits left, and this account has no included ones.
      Sem créditos comprados, e esta conta não tem créditos incluídos.`,
    cost: `Requests are refused with status 429. That costs nothing.
      Os pedidos são recusados com o código 429. Isso não custa nada.`,
    next: ['Get more credits.', 'Obtenha mais créditos.'],
  },
  switchedOff: {
    happened: `The included credits since {start} are used, and this account does not spend purchased ones.
      Os créditos incluídos desde {start} acabaram, e esta conta não gasta os comprados.`,
    cost: REFUSED_TEXT,
    next: ['Spend purchased credits, or wait until then.', 'Gaste os créditos comprados, ou espere até lá.'],
  },
  lapsesSoon: {
    happened: ['Plus ends on {day}.', 'O plano Plus termina em {day}.'],
    cost: ['Until then nothing changes.', 'Até lá nada muda.'],
    next: `Then the account is Free: credits a month: {credits}, API keys: {keys}. Further keys go on working.
      Depois a conta passa ao plano Gratuito. Créditos por mês: {credits}, chaves: {keys}. As restantes chaves continuam a funcionar.`,
  },
  lapsed: {
    happened: `Plus ended on {day}: the account is Free.
      O plano Plus terminou em {day}: o plano é agora o Gratuito.`,
    cost: ['Purchased credits stay.', 'Os créditos comprados ficam.'],
    next: `Ask for Plus, or go on with the plan. Credits a month: {credits}, requests a minute: {rate}, keys: {keys}. Further keys still work.
      Peça o plano Plus, ou continue com o plano. Créditos por mês: {credits}, pedidos por minuto: {rate}, chaves: {keys}. As restantes ainda funcionam.`,
  },
  tooManyKeys: {
    happened: `Keys that work: {keys}. The plan has room for {limit}.
      Chaves ativas: {keys}. O plano prevê {limit}.`,
    cost: ['All of them go on working, for nothing.', 'Todas continuam a funcionar, sem custo.'],
    next: `To create another, first revoke {excess}, or ask for Plus.
      Para criar outra, revogue primeiro {excess}, ou peça o plano Plus.`,
  },
  suspended: {
    happened: `This account has been suspended since {at}: its keys are refused.
      Esta conta está suspensa desde {at}: as suas chaves são recusadas.`,
    cost: ['That costs nothing, and credits stay.', 'Isso não custa nada, e os créditos ficam.'],
    next: ['Ask the operator of this service.', 'Contacte o operador deste serviço.'],
  },
  keyEndsSoon: {
    happened: ['The key “{name}” works until {end}.', 'A chave “{name}” é válida até {end}.'],
    cost: ['Until then nothing changes.', 'Até lá nada muda.'],
    next: ['Change the last day if programs still use it.', 'Altere a validade se ainda for usada.'],
  },
  keyEnded: {
    happened: `The key “{name}” expired: it was valid until {end}.
      A chave “{name}” expirou: era válida até {end}.`,
    cost: KEY_REFUSED_TEXT,
    next: ['A new last day makes it work again.', 'Com uma nova validade volta a funcionar.'],
  },
  keyRotated: {
    happened: `The key has a new secret, and its old one works until {end}.
      A chave tem um novo segredo, e o anterior funciona até {end}.`,
    cost: ['Requests cost the same with either.', 'Os pedidos custam o mesmo com qualquer um.'],
    next: ['Give its programs the new secret by then.', 'Até lá, dê o novo segredo aos seus programas.'],
  },
  postgresAway: {
    happened: ['The data can’t be read at the moment.', 'De momento não é possível ler os dados.'],
    cost: ['Nothing was charged.', 'Nada foi cobrado.'],
    next: ['Try again in a moment.', 'Tente de novo dentro de momentos.'],
  },
  searchAway: {
    happened: ['The directory can’t be searched now.', 'De momento não se pode pesquisar o diretório.'],
    cost: ['This search has cost its credit.', 'Esta pesquisa custou o seu crédito.'],
    next: `Try again in a few minutes. The lookup of a NIF works meanwhile.
      Tente de novo dentro de alguns minutos. A consulta de um NIF continua a funcionar.`,
  },
  overloaded: {
    happened: ['The service is overloaded at the moment.', 'De momento o serviço está sobrecarregado.'],
    cost: ['Nothing was charged.', 'Nada foi cobrado.'],
    next: ['Try again in a moment.', 'Tente de novo dentro de momentos.'],
  },
  limited: {
    happened: `This account has made more requests within a minute than its {limit}.
      Num minuto, esta conta fez mais pedidos do que os seus {limit}.`,
    cost: ['Nothing was charged.', 'Nada foi cobrado.'],
    next: ['Try again in {seconds} s.', 'Tente de novo dentro de {seconds} s.'],
  },
} as const;

type Text = string | ((...values: never[]) => string);
type ValuesOf<T extends Text> = T extends (...values: infer Values) => string ? Values : [];

/** One of `messages.states`. */
type StateText = Record<'happened' | 'cost' | 'next', Text>;

/** The three sentences of a state with their values: what happened, what it costs, and what to do next. */
export function filled<State extends StateText>(
  { happened, cost, next }: State,
  ...values: [ValuesOf<State['happened']>?, ValuesOf<State['cost']>?, ValuesOf<State['next']>?]
): string {
  const said = [happened, cost, next].map((text, index) =>
    typeof text === 'string' ? text : (text as (...values: unknown[]) => string)(...(values[index] ?? [])),
  );
  return said.join(' ');
}
