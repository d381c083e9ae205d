import type { ProblemName, Reason } from '../../http/problems.ts';

/** The catalogue of problems in Portuguese (src/http/problems.ts has the English one). */
export const PROBLEMS_PT: Record<ProblemName, { title: string; cause: string; fix: string }> = {
  validation: {
    title: 'O pedido não é válido',
    cause:
      'Uma pesquisa veio sem `q` ou com `q` só de espaço, ou o NIF de uma consulta não tem nove algarismos (sem `PT`) com o algarismo de controlo certo, ou o corpo de um pedido de várias empresas, de vários nomes ou de alterações não é o JSON que o serviço recebe, ou `Idempotency-Key` não tem 1 a 64 letras, algarismos, `_` e `-`, ou `after` de `/activity` não é o `next` de uma resposta anterior.',
    fix: 'Corrija o que o detalhe indica: diz o que é permitido. O pedido custou o seu crédito, salvo numa operação gratuita.',
  },
  unauthorized: {
    title: 'Falta a chave da API, ou não é válida',
    cause:
      'Falta o cabeçalho `Authorization`, ou não tem a forma `Bearer <API_KEY>`, ou a chave é desconhecida, foi revogada ou expirou, ou a conta está suspensa.',
    fix: 'Envie `Authorization: Bearer svc_…` com uma chave ativa. O painel diz o que terminou uma chave ou suspendeu a conta, desde quando e porquê. Nada foi cobrado.',
  },
  'company-not-found': {
    title: 'Essa empresa não existe',
    cause: 'Uma fonte diz com certeza que nenhuma empresa tem este NIF.',
    fix: 'Confirme o NIF junto de quem o forneceu. O pedido custou o seu crédito.',
  },
  'changes-expired': {
    title: 'As alterações depois deste cursor já não estão guardadas',
    cause:
      'As alterações são guardadas durante 90 dias, e algumas depois do cursor `after` são mais antigas.',
    fix: 'Volte a verificar as suas empresas (`POST /debts`, para agentes `check_debts`), e continue a partir do cursor `oldest`, que vem no problema. Nada foi cobrado.',
  },
  'activity-expired': {
    title: 'A atividade depois deste cursor já não está guardada',
    cause:
      'A atividade é guardada durante alguns dias, e algumas linhas depois do cursor `after` são mais antigas.',
    fix: 'Continue com o cursor `oldest`, que está no problema. O painel tem as chamadas de cada dia anterior. Nada foi cobrado.',
  },
  'rate-limit-exceeded': {
    title: 'Demasiados pedidos',
    cause: 'A conta gastou o seu limite por minuto, que recupera ao ritmo que `RateLimit-Limit` indica.',
    fix: 'Espere os segundos que `Retry-After` indica. Espace os pedidos, ou peça um plano com um limite maior. Nada foi cobrado.',
  },
  'monthly-quota-exceeded': {
    title: 'Sem créditos',
    cause: 'Os créditos do período acabaram, e não há comprados ou a conta não os gasta.',
    fix: 'Compre créditos (em `buy`, se o problema o tiver), mude de plano, ou espere até à data de renovação (`reset`). Nenhum crédito foi cobrado.',
  },
  'key-budget-exceeded': {
    title: 'O limite de créditos da chave foi atingido',
    cause:
      'A chave tem um limite de créditos por dia ou por mês (UTC), e atingiu-o. A conta pode ter créditos.',
    fix: 'Espere até à data de renovação (`reset`), ou peça ao proprietário da conta um limite maior ou outra chave. Nenhum crédito foi cobrado.',
  },
  'key-budget-spent': {
    title: 'O limite total da chave foi atingido',
    cause: 'A chave tem um limite de créditos no total, que não se renova, e atingiu-o.',
    fix: 'Peça ao proprietário da conta um limite maior ou outra chave. Nenhum crédito foi cobrado.',
  },
  'not-permitted': {
    title: 'A chave não tem esta permissão',
    cause: 'A chave só tem algumas permissões, e esta operação ou ferramenta não está entre elas.',
    fix: 'Peça ao proprietário da conta uma chave com esta permissão. `GET /key` diz que permissões a chave tem. Nada foi cobrado.',
  },
  'authentication-failed': {
    title: 'Não foi possível verificar a chave',
    cause: 'O serviço não conseguiu agora procurar a chave. A chave pode bem ser válida.',
    fix: 'Tente de novo dentro de momentos. Nada foi cobrado.',
  },
  'search-failed': {
    title: 'A pesquisa falhou',
    cause: 'Não foi possível agora pesquisar o diretório.',
    fix: 'Tente de novo dentro de momentos. O pedido custou o seu crédito.',
  },
  'company-lookup-failed': {
    title: 'Não foi possível consultar a empresa',
    cause: 'Não há dados recentes desta empresa, e as fontes falharam, demoraram ou não a conhecem.',
    fix: 'Tente de novo mais tarde. O pedido custou o seu crédito.',
  },
  'not-found': {
    title: 'Não há nada neste endereço',
    cause: 'Não existe uma operação da API neste caminho.',
    fix: 'Veja a referência em `/openapi`. Nada foi cobrado.',
  },
  'method-not-allowed': {
    title: 'O método não é permitido',
    cause: 'Este caminho usa outro método, que `Allow` indica.',
    fix: 'Use o método que `Allow` indica: GET, ou POST para várias empresas de uma vez. Nada foi cobrado.',
  },
  'service-unavailable': {
    title: 'O serviço não está disponível neste momento',
    cause:
      'Não foi possível contar os créditos da conta, ou ler a utilização, os dados guardados ou o diretório, ou o serviço está sobrecarregado. Ou não há dados recentes da empresa, e as atualizações da conta ou de todas as contas acabaram. Ou o elemento de uma consulta múltipla seria a décima primeira empresa a atualizar.',
    fix: 'Tente de novo depois dos segundos que `Retry-After` indica: até à meia-noite (UTC), se acabaram as atualizações do dia. Nenhum crédito foi cobrado.',
  },
  'internal-error': {
    title: 'Algo correu mal do nosso lado',
    cause: 'A falha é do próprio serviço.',
    fix: 'Tente de novo. Se o erro persistir, comunique-o com o `X-Request-Id` da resposta. Um pedido que foi admitido custou o seu crédito.',
  },
};

/** Why a problem was answered, in Portuguese (`REASONS`). */
export const REASONS_PT: Record<Reason, string> = {
  nif: 'O NIF não tem nove algarismos com o algarismo de controlo certo.',
  query: 'Falta `q`, ou está em branco.',
  name: 'Um nome está em branco.',
  body: 'O corpo não é JSON, ou é demasiado grande ou lento.',
  member: 'Um membro falta, não é conhecido, ou não é o que a operação recebe.',
  'idempotency-key': '`Idempotency-Key` não é válido.',
  cursor: '`after` não é o `next` de uma resposta anterior.',
  'account-rate': 'A conta esgotou os seus pedidos por minuto.',
  'key-rate': 'A chave esgotou a sua parte dos pedidos por minuto.',
  refreshes: 'As atualizações de empresas esgotaram-se.',
  later: 'O pedido já não teve tempo ou lugar para isto: volte a pedir.',
  'under-way': 'Um envio anterior com este `Idempotency-Key` está em curso.',
  overloaded: 'O serviço está sobrecarregado.',
};
