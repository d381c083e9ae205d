import type { ProblemName } from '../../http/problems.ts';

/** The reference's texts in Portuguese; the English ones are the OpenAPI document's and the catalogue's of problems. */
export const pt = {
  /** By `operationId`. */
  operations: {
    searchCompanies: {
      summary: 'Pesquisar empresas',
      description:
        'Encontra as empresas cuja denominação normalizada começa pela pesquisa normalizada, ou a que tem o NIF contido na pesquisa. No máximo 20 entradas: primeiro as iguais à pesquisa, depois as outras por denominação.',
      cost: 'um crédito',
    },
    getCompany: {
      summary: 'Consultar uma empresa',
      description:
        'Os dados de uma empresa: os guardados, se tiverem menos de seis dias; se não, atualizados no fornecedor de dados ou, se este falhar, no registo comercial.',
      cost: 'um crédito',
    },
    getCompanies: {
      summary: 'Consultar várias empresas',
      description:
        'Os dados de até 100 empresas, por uma unidade do limite por minuto. Cada NIF recebe, no seu lugar, o que uma consulta simples responderia. Um NIF repetido é respondido e cobrado de cada vez. Se os créditos chegarem só para alguns NIF, servem os primeiros, e os outros recebem `monthly-quota-exceeded`. No máximo dez empresas sem dados recentes são atualizadas; as outras recebem `service-unavailable` e nada custam. Um corpo inválido é um `validation` que custa um crédito.',
      cost: 'um crédito por cada NIF com resposta',
    },
    getDebts: {
      summary: 'Verificar as dívidas de uma lista de empresas',
      description:
        'Os escalões de dívida de até 1000 empresas nas listas da Autoridade Tributária e da Segurança Social, por uma unidade do limite por minuto. Não pergunta a nenhuma fonte nem gasta atualizações: uma empresa que nenhuma fonte conhece também tem os seus escalões. `null` significa que a empresa não está na lista dessa data. Não significa que não tem dívidas: as listas só têm dívidas acima de um limiar, e `datasets` diz que lista nunca foi importada. Um NIF repetido é respondido e cobrado de cada vez. Se os créditos chegarem só para alguns NIF, servem os primeiros, e os outros recebem `monthly-quota-exceeded`. Um corpo inválido é um `validation` que custa um crédito.',
      cost: 'um crédito por cada NIF com resposta',
    },
    getDebtChanges: {
      summary: 'Seguir as alterações de dívidas',
      description:
        'O que mudou nas listas de dívidas desde uma resposta anterior, do mais antigo para o mais recente, no máximo 100 alterações. Continue com `next`: não falta nem se repete nenhuma alteração, seja o que for que se importe entretanto. Uma resposta sem alterações também tem `next`. As alterações são registadas quando uma lista é importada, exceto a primeira de cada tipo e as de pessoas singulares, e são guardadas durante 90 dias. Não se guarda quem pergunta por que empresas. Se os créditos chegarem só para algumas alterações, a resposta tem essas, e `more` é verdadeiro. Um corpo inválido é um `validation` que custa um crédito.',
      cost: 'um crédito por cada alteração, e pelo menos um',
    },
    getUsage: {
      summary: 'Consultar a utilização',
      description:
        'O plano da conta, os créditos, o período, as chaves e o limite por minuto. Custa uma unidade do limite por minuto e nenhum crédito, e funciona quando os créditos acabaram.',
      cost: 'nenhum crédito',
    },
    getDatasets: {
      summary: 'Consultar os dados disponíveis',
      description:
        'Quantas empresas tem cada conjunto de dados, e de quando é: assim se distingue uma empresa sem dívidas de dívidas nunca importadas. Custa uma unidade do limite por minuto e nenhum crédito, e funciona quando os créditos acabaram.',
      cost: 'nenhum crédito',
    },
  } as Record<string, { summary: string; description: string; cost: string }>,
  parameters: {
    q: 'Nome ou NIF da empresa; não pode ser só espaço.',
    nif: 'Nove algarismos com o algarismo de controlo certo; podem ser separados por espaços, hífenes e pontos.',
  } as Record<string, string>,
  problems: {
    validation: {
      title: 'O pedido não é válido',
      cause:
        'Uma pesquisa veio sem `q` ou com `q` só de espaço, ou o NIF de uma consulta não tem nove algarismos (sem `PT`) com o algarismo de controlo certo, ou o corpo de um pedido de várias empresas, ou de alterações, não é o JSON que o serviço recebe.',
      fix: 'Envie um `q` que não seja vazio, ou um NIF de nove algarismos (podem ser separados por espaços, hífenes e pontos). O pedido custou o seu crédito: verifique o NIF antes de o enviar.',
    },
    unauthorized: {
      title: 'Falta a chave da API, ou não é válida',
      cause:
        'Falta o cabeçalho `Authorization`, ou não tem a forma `Bearer <API_KEY>`, ou a chave é desconhecida, foi revogada ou expirou, ou a conta está suspensa.',
      fix: 'Envie `Authorization: Bearer svc_…` com uma chave ativa. Nada foi cobrado.',
    },
    'company-not-found': {
      title: 'Essa empresa não existe',
      cause: 'Uma fonte diz com certeza que nenhuma empresa tem este NIF.',
      fix: 'Confirme o NIF com quem lho deu.',
    },
    'changes-expired': {
      title: 'As alterações depois deste cursor já não estão guardadas',
      cause:
        'As alterações de dívidas são guardadas durante 90 dias, e algumas que se seguem ao cursor `after` são mais antigas. As respostas a partir daí deixá-las-iam de fora.',
      fix: 'Volte a verificar as suas empresas com `POST /debts`, e continue a partir do cursor `oldest`, que vem no problema. Nada foi cobrado.',
    },
    'rate-limit-exceeded': {
      title: 'Demasiados pedidos',
      cause:
        'A conta gastou o seu limite por minuto. Este recupera de forma contínua, ao ritmo que `RateLimit-Limit` indica.',
      fix: 'Espere os segundos que `Retry-After` indica. Espace os pedidos, ou peça um plano com um limite maior. Nada foi cobrado.',
    },
    'monthly-quota-exceeded': {
      title: 'Sem créditos',
      cause:
        'Os créditos incluídos no período acabaram. Não há créditos comprados, ou a conta está definida para não os gastar.',
      fix: 'Compre créditos, mude de plano, ou espere até `reset`. Nenhum crédito foi cobrado.',
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
      cause:
        'Não há dados recentes desta empresa, e nenhuma fonte soube responder: falharam, demoraram demasiado, ou não a conhecem.',
      fix: 'Tente de novo mais tarde. O pedido custou o seu crédito.',
    },
    'not-found': {
      title: 'Não há nada neste endereço',
      cause: 'Não existe um serviço da API neste caminho.',
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
      fix: 'Tente de novo. Se continuar, comunique-a com o `X-Request-Id` da resposta.',
    },
  } satisfies Record<ProblemName, { title: string; cause: string; fix: string }>,
};
