interface ProblemText {
  title: string;
  cause: string;
  /** The remedy for the consumer. */
  fix: string;
}

/** One kind of failure, for the reference and the problem's page. */
interface ProblemKind extends ProblemText {
  status: number;
  /** For readers of the dashboard. Programs get English. */
  pt: ProblemText;
}

/**
 * The catalogue of all problems that the service answers: the specification's kinds first, then ours (docs/api.md: problems).
 */
export const PROBLEMS = {
  validation: {
    status: 400,
    title: 'The request is not valid',
    cause:
      'A search came without `q` or with only white space in it, or the NIF of a lookup is not nine digits (without `PT`) with a right check digit, or the body of a request for several companies, for several names or for changes is not the JSON that the endpoint takes, or `Idempotency-Key` is not 1 to 64 letters, digits, `_` and `-`, or `after` of `/activity` is not the `next` of an earlier answer.',
    fix: 'Correct what the detail names: it says what is allowed. The request has cost its credit, unless its endpoint is free.',
    pt: {
      title: 'O pedido não é válido',
      cause:
        'Uma pesquisa veio sem `q` ou com `q` só de espaço, ou o NIF de uma consulta não tem nove algarismos (sem `PT`) com o algarismo de controlo certo, ou o corpo de um pedido de várias empresas, de vários nomes ou de alterações não é o JSON que o serviço recebe, ou `Idempotency-Key` não tem 1 a 64 letras, algarismos, `_` e `-`, ou `after` de `/activity` não é o `next` de uma resposta anterior.',
      fix: 'Corrija o que o detalhe indica: diz o que é permitido. O pedido custou o seu crédito, salvo numa operação gratuita.',
    },
  },
  unauthorized: {
    status: 401,
    title: 'The API key is missing or not valid',
    cause:
      'The `Authorization` header is missing or not of the form `Bearer <API_KEY>`, or the key is unknown, revoked or expired, or its account is suspended.',
    fix: 'Send `Authorization: Bearer svc_…` with an active key. The dashboard says what ended a key or suspended an account, since when, and why. Nothing was charged.',
    pt: {
      title: 'Falta a chave da API, ou não é válida',
      cause:
        'Falta o cabeçalho `Authorization`, ou não tem a forma `Bearer <API_KEY>`, ou a chave é desconhecida, foi revogada ou expirou, ou a conta está suspensa.',
      fix: 'Envie `Authorization: Bearer svc_…` com uma chave ativa. O painel diz o que terminou uma chave ou suspendeu a conta, desde quando e porquê. Nada foi cobrado.',
    },
  },
  'company-not-found': {
    status: 404,
    title: 'There is no such company',
    cause: 'A source says definitely that no company has this NIF.',
    fix: 'Check the NIF with its source. The request has cost its credit.',
    pt: {
      title: 'Essa empresa não existe',
      cause: 'Uma fonte diz com certeza que nenhuma empresa tem este NIF.',
      fix: 'Confirme o NIF junto de quem o forneceu. O pedido custou o seu crédito.',
    },
  },
  'changes-expired': {
    status: 410,
    title: 'The changes after this cursor are no longer kept',
    cause:
      'Changes of debts are kept for 90 days, and some that follow the cursor `after` are older. Answers from there on would leave them out.',
    fix: 'Screen your companies again (`POST /debts`, for agents `check_debts`), and go on from the cursor `oldest`, which is in the problem. Nothing was charged.',
    pt: {
      title: 'As alterações depois deste cursor já não estão guardadas',
      cause:
        'As alterações são guardadas durante 90 dias, e algumas depois do cursor `after` são mais antigas.',
      fix: 'Volte a verificar as suas empresas (`POST /debts`, para agentes `check_debts`), e continue a partir do cursor `oldest`, que vem no problema. Nada foi cobrado.',
    },
  },
  'activity-expired': {
    status: 410,
    title: 'The activity after this cursor is no longer kept',
    cause: 'Activity is kept for some days, and some rows that follow the cursor `after` are older.',
    fix: 'Go on from the cursor `oldest`, which is in the problem. The dashboard has the calls of each day before. Nothing was charged.',
    pt: {
      title: 'A atividade depois deste cursor já não está guardada',
      cause:
        'A atividade é guardada durante alguns dias, e algumas linhas depois do cursor `after` são mais antigas.',
      fix: 'Continue com o cursor `oldest`, que está no problema. O painel tem as chamadas de cada dia anterior. Nada foi cobrado.',
    },
  },
  'rate-limit-exceeded': {
    status: 429,
    title: 'Too many requests',
    cause:
      "The token bucket of the account is empty, or that of the key's share (`scope`): it refills continuously, at the requests per minute that `RateLimit-Limit` says.",
    fix: 'Wait the seconds that `Retry-After` says. Spread the requests, or ask for a plan or a share with a higher limit. Nothing was charged.',
    pt: {
      title: 'Demasiados pedidos',
      cause: 'A conta gastou o seu limite por minuto, que recupera ao ritmo que `RateLimit-Limit` indica.',
      fix: 'Espere os segundos que `Retry-After` indica. Espace os pedidos, ou peça um plano com um limite maior. Nada foi cobrado.',
    },
  },
  'monthly-quota-exceeded': {
    status: 429,
    title: 'No credits left',
    cause:
      'The included allowance of the period is used up. There are no purchased credits, or the account is set not to spend them.',
    fix: 'Buy credits (at `buy`, if the problem has it), change the plan, or wait for `reset`. No credit was charged.',
    pt: {
      title: 'Sem créditos',
      cause: 'Os créditos do período acabaram, e não há comprados ou a conta não os gasta.',
      fix: 'Compre créditos (em `buy`, se o problema o tiver), mude de plano, ou espere até à data de renovação (`reset`). Nenhum crédito foi cobrado.',
    },
  },
  'key-budget-exceeded': {
    status: 429,
    title: 'The credit limit of the key is reached',
    cause:
      'The key has a credit limit for a day or a month (UTC), and has reached it. The account may have credits.',
    fix: 'Wait for `reset`, or ask the owner of the account for a higher limit or another key. No credit was charged.',
    pt: {
      title: 'O limite de créditos da chave foi atingido',
      cause:
        'A chave tem um limite de créditos por dia ou por mês (UTC), e atingiu-o. A conta pode ter créditos.',
      fix: 'Espere até à data de renovação (`reset`), ou peça ao proprietário da conta um limite maior ou outra chave. Nenhum crédito foi cobrado.',
    },
  },
  'key-budget-spent': {
    status: 403,
    title: 'The total credit limit of the key is reached',
    cause: 'The key has a credit limit in total, which is not renewed, and has reached it.',
    fix: 'Ask the owner of the account for a higher limit or another key. No credit was charged.',
    pt: {
      title: 'O limite total de créditos da chave foi atingido',
      cause: 'A chave tem um limite de créditos no total, que não se renova, e atingiu-o.',
      fix: 'Peça ao proprietário da conta um limite maior ou outra chave. Nenhum crédito foi cobrado.',
    },
  },
  'not-permitted': {
    status: 403,
    title: 'The key may not do this',
    cause: 'The key has some permissions only, and this endpoint or tool is not among them.',
    fix: 'Ask the owner of the account for a key with this permission. `GET /key` says which permissions the key has. Nothing was charged.',
    pt: {
      title: 'A chave não tem esta permissão',
      cause: 'A chave só tem algumas permissões, e esta operação ou ferramenta não está entre elas.',
      fix: 'Peça ao proprietário da conta uma chave com esta permissão. `GET /key` diz que permissões a chave tem. Nada foi cobrado.',
    },
  },
  'authentication-failed': {
    status: 500,
    title: 'The key could not be checked',
    cause: 'The service could not look the key up just now. The key may well be valid.',
    fix: 'Try again shortly. Nothing was charged.',
    pt: {
      title: 'Não foi possível verificar a chave',
      cause: 'De momento, o serviço não conseguiu procurar a chave. A chave pode ser válida.',
      fix: 'Tente de novo dentro de momentos. Nada foi cobrado.',
    },
  },
  'search-failed': {
    status: 500,
    title: 'The search failed',
    cause: 'The directory could not be searched just now.',
    fix: 'Try again shortly. The request has cost its credit.',
    pt: {
      title: 'A pesquisa falhou',
      cause: 'De momento, não foi possível pesquisar o diretório.',
      fix: 'Tente de novo dentro de momentos. O pedido custou o seu crédito.',
    },
  },
  'company-lookup-failed': {
    status: 502,
    title: 'The company could not be looked up',
    cause:
      'There is no fresh record of this company, and no source could tell: they failed, were too slow, or did not know.',
    fix: 'Try again later. The request has cost its credit.',
    pt: {
      title: 'Não foi possível consultar a empresa',
      cause: 'Não há dados recentes desta empresa, e as fontes falharam, demoraram ou não a conhecem.',
      fix: 'Tente de novo mais tarde. O pedido custou o seu crédito.',
    },
  },
  'not-found': {
    status: 404,
    title: 'There is nothing at this address',
    cause: 'No endpoint exists at this path.',
    fix: 'See the reference at `/openapi`. Nothing was charged.',
    pt: {
      title: 'Não há nada neste endereço',
      cause: 'Não existe uma operação da API neste caminho.',
      fix: 'Veja a referência em `/openapi`. Nada foi cobrado.',
    },
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed',
    cause: 'The endpoint has another method, which `Allow` names.',
    fix: 'Use the method that `Allow` names. Nothing was charged.',
    pt: {
      title: 'O método não é permitido',
      cause: 'Este caminho usa outro método, que `Allow` indica.',
      fix: 'Use o método que `Allow` indica: GET, ou POST para várias empresas de uma vez. Nada foi cobrado.',
    },
  },
  'service-unavailable': {
    status: 503,
    title: 'The service is not available just now',
    cause:
      'The credits of the account could not be counted, its usage, stored data or the directory could not be read, or the service is overloaded. Or the company has no fresh record, and the refreshes of the account or of all accounts are used up. Or the item of a batch lookup would be the eleventh company to refresh.',
    fix: 'Try again after the seconds that `Retry-After` says: until midnight (UTC) if refreshes of the day are used up. No credit was charged.',
    pt: {
      title: 'O serviço não está disponível neste momento',
      cause:
        'Não foi possível contar os créditos da conta, ou ler a utilização, os dados guardados ou o diretório, ou o serviço está sobrecarregado. Ou não há dados recentes da empresa, e as atualizações da conta ou de todas as contas esgotaram-se. Ou o elemento de uma consulta múltipla seria a décima primeira empresa a atualizar.',
      fix: 'Tente de novo depois dos segundos que `Retry-After` indica: até à meia-noite (UTC), se se esgotaram as atualizações do dia. Nenhum crédito foi cobrado.',
    },
  },
  'internal-error': {
    status: 500,
    title: 'Something went wrong here',
    cause: 'The service itself is at fault.',
    fix: 'Try again. If it stays, report it with the `X-Request-Id` of the answer. A request that was admitted has cost its credit.',
    pt: {
      title: 'Algo correu mal do nosso lado',
      cause: 'A falha é do próprio serviço.',
      fix: 'Tente de novo. Se o erro persistir, comunique-o com o `X-Request-Id` da resposta. Um pedido que foi admitido custou o seu crédito.',
    },
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemName = keyof typeof PROBLEMS;

/**
 * Why a problem was answered, if its kind leaves that open, in English and Portuguese. The activity keeps the name, because a detail can hold
 * a caller's text.
 */
export const REASONS = {
  nif: [
    'The NIF is not nine digits with a right check digit.',
    'O NIF não tem nove algarismos com o algarismo de controlo certo.',
  ],
  query: ['The query `q` is missing or blank.', 'Falta `q`, ou está em branco.'],
  name: ['A name is blank.', 'Um nome está em branco.'],
  body: [
    'The body is not JSON, or is too large or too slow.',
    'O corpo não é JSON, ou é demasiado grande ou lento.',
  ],
  member: [
    'A field is missing, not known, or not what the endpoint takes.',
    'Um campo falta, não é conhecido, ou não é o que a operação recebe.',
  ],
  'idempotency-key': ['`Idempotency-Key` is not valid.', '`Idempotency-Key` não é válido.'],
  cursor: [
    '`after` is not the `next` of an earlier answer.',
    '`after` não é o `next` de uma resposta anterior.',
  ],
  'account-rate': [
    'The account has used up its requests per minute.',
    'A conta esgotou os seus pedidos por minuto.',
  ],
  'key-rate': [
    'The key has used up its share of the requests per minute.',
    'A chave esgotou a sua parte dos pedidos por minuto.',
  ],
  refreshes: ['The refreshes of companies are used up.', 'As atualizações de empresas esgotaram-se.'],
  later: [
    'The request had no time or room left for it: ask for it again.',
    'O pedido já não teve tempo ou lugar para isto: volte a pedir.',
  ],
  'under-way': [
    'An earlier sending with this `Idempotency-Key` is under way.',
    'Um envio anterior com este `Idempotency-Key` está em curso.',
  ],
  overloaded: ['The service is overloaded.', 'O serviço está sobrecarregado.'],
} as const satisfies Record<string, [en: string, pt: string]>;

export type Reason = keyof typeof REASONS;

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** A failure that is about to be answered. */
export interface Problem {
  kind: ProblemName;
  /** The cause in this case, in our words only. By default the kind's cause. */
  detail?: string;
  reason?: Reason;
  /** The address where missing credits are bought. */
  buy?: string;
  /** Further members of the body, as `quota`, `limit`, `scope` and `reset`. */
  members?: Record<string, string | number>;
  headers?: Record<string, string>;
  /** The thrown error, for the log line alone. */
  cause?: unknown;
}

/** The `type` of a problem: the address of its page (docs/api.md: problems). */
export function problemType(publicUrl: string, kind: ProblemName): string {
  return `${publicUrl}/problems/${kind}`;
}

/** The members of a problem that is the whole answer or that of an item. */
export function problemBody(
  publicUrl: string,
  { kind, detail, buy }: Pick<Problem, 'kind' | 'detail' | 'buy'>,
) {
  const { status, title, cause } = PROBLEMS[kind];
  return {
    type: problemType(publicUrl, kind),
    title,
    status,
    detail: detail ?? cause,
    ...(buy !== undefined && { buy }),
  };
}

/** The body of a problem's answer. */
export function problemJson(publicUrl: string, problem: Problem): string {
  return JSON.stringify({ ...problemBody(publicUrl, problem), ...problem.members });
}

/** The sentence of a `fix` about a header. */
const ABOUT_RETRY_AFTER = /^[^.]*`Retry-After`[^.]*\. /;

/** The longest wait that an agent makes. It does not wait for a day to end: its user has to know. */
const LONGEST_WAIT_S = 60;

/** The sentence of a `fix` about the cost of a call that was charged. */
const ABOUT_COST = /[^.]* has cost its credit[^.]*\.$/;

/**
 * Tells a model about the problem and its remedy. A model sees no headers, but can tell its user.
 * @param isCharged whether the call was charged: one of a test key is not, nor is a repetition
 * @param requestId named in the text of a fault of the service, because the header is not seen
 */
export function explain(
  { kind, detail, headers, buy, members }: Problem,
  isCharged: boolean,
  requestId: string,
): string {
  const { title, status, cause, fix: general } = PROBLEMS[kind];
  const fix = isCharged ? general : general.replace(ABOUT_COST, ' No credit was charged.');
  const told = detail ?? cause;
  // A detail that ends with an example has no period.
  const named = status === 500 ? ` The \`X-Request-Id\` is ${requestId}.` : '';
  return `${title}. ${told}${told.endsWith('.') ? '' : '.'} ${remedy()}${named}`;

  function remedy(): string {
    if (status === 403 || kind === 'key-budget-exceeded') return `Stop, and tell the user. ${fix}`;
    if (kind === 'monthly-quota-exceeded') {
      const shop = buy === undefined ? 'buy credits' : `buy credits at ${buy}`;
      const ways =
        members?.limit === 0
          ? `${shop}, or to change the plan`
          : `${shop}, to change the plan, or to wait until then`;
      return `Stop, and tell the user to ${ways}. No credit was charged.`;
    }
    const waitS = headers?.['Retry-After'];
    if (waitS === undefined) return fix;
    const advice =
      Number(waitS) > LONGEST_WAIT_S
        ? `Stop, and tell the user that this works again within ${Math.ceil(Number(waitS) / 3600)} h.`
        : `Wait ${waitS} s, then call again.`;
    return `${advice} ${fix.replace(ABOUT_RETRY_AFTER, '')}`;
  }
}
