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
    matchCompanies: {
      summary: 'Encontrar empresas por palavras do nome',
      description:
        'Encontra as empresas cuja denominação normalizada tem todas as palavras da pesquisa normalizada, a última como início de uma palavra, ou a que tem o NIF contido na pesquisa. No máximo 20 entradas: primeiro os nomes que começam pela pesquisa, depois os que têm as palavras todas inteiras, depois os outros; sempre por denominação.',
      cost: 'um crédito',
    },
    resolveNames: {
      summary: 'Encontrar as empresas de uma lista de nomes',
      description:
        'As empresas a que correspondem até 100 nomes tal como são escritos, por uma unidade do limite por minuto: no máximo 5 candidatas por nome, cada uma com a sua prova palavra a palavra. `clear` só é verdadeiro se a primeira candidata for a empresa sem dúvida. Um nome sem candidatas nada custa, mas um pedido custa pelo menos um crédito. Se os créditos chegarem só para alguns nomes, servem os primeiros, e os outros recebem `monthly-quota-exceeded`, mesmo que sejam devolvidos créditos de outros nomes. Um corpo inválido é um `validation` que custa um crédito.',
      cost: 'um crédito por cada nome com candidatas, e pelo menos um por pedido',
    },
    getCompany: {
      summary: 'Consultar uma empresa',
      description:
        'Os dados de uma empresa: os guardados, se tiverem menos de seis dias; se não, atualizados no fornecedor de dados ou, se este falhar, numa segunda fonte.',
      cost: 'um crédito',
    },
    getCompanies: {
      summary: 'Consultar várias empresas',
      description:
        'Os dados de até 100 empresas, por uma unidade do limite por minuto. Cada NIF recebe, no seu lugar, o que uma consulta individual responderia. Um NIF repetido é respondido e cobrado de cada vez. Se os créditos chegarem só para alguns NIF, servem os primeiros, e os outros recebem `monthly-quota-exceeded`. No máximo dez empresas sem dados recentes são atualizadas; as outras recebem `service-unavailable` e nada custam. Um corpo inválido é um `validation` que custa um crédito.',
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
    getKey: {
      summary: 'Consultar a chave',
      description:
        'A chave deste pedido: os seus direitos, o seu orçamento e o que gastou dele. Qualquer chave pode perguntar. Custa uma unidade do limite por minuto e nenhum crédito, e funciona quando os créditos acabaram. Todas as chaves de uma conta partilham os seus pedidos por minuto.',
      cost: 'nenhum crédito',
    },
    getActivity: {
      summary: 'Seguir a atividade',
      description:
        'As chamadas da conta que custaram créditos, que devolveram alguns, que tiveram um problema ou que repetiram uma resposta anterior: da mais antiga para a mais recente, no máximo 1000 linhas, alguns segundos depois da chamada. Continue com `next`: nenhuma linha se repete, e não falta nenhuma cobrança nem devolução. Os `credits` de um dia (UTC, por `at`) guardado por inteiro somam os créditos desse dia no painel, chave por chave. Se em poucos segundos houver muitas respostas sem cobrança, uma linha diz quantas mais foram. Uma chave com alguns direitos, mas sem `activity`, recebe só as suas próprias chamadas. Custa uma unidade do limite por minuto e nenhum crédito.',
      cost: 'nenhum crédito',
    },
    getDatasets: {
      summary: 'Consultar os dados disponíveis',
      description:
        'Quantas empresas tem cada conjunto de dados, e de quando é: assim se distingue uma empresa sem dívidas de dívidas nunca importadas. Custa uma unidade do limite por minuto e nenhum crédito, e funciona quando os créditos acabaram.',
      cost: 'nenhum crédito',
    },
  } as Record<string, { summary: string; description: string; cost: string }>,
  /** Descriptions of parameters and of members of the schemas, by the English text. */
  descriptions: {
    'Company name or NIF; not empty after trimming.': 'Nome ou NIF da empresa; não pode ser só espaço.',
    "Words of a company's name, or a NIF; not empty after trimming. Only the first 8 words are asked.":
      'Palavras do nome da empresa, ou um NIF; não pode ser só espaço. Só contam as primeiras 8 palavras.',
    'Nine digits with a right check digit; spaces, hyphens and periods may separate them.':
      'Nove algarismos com o algarismo de controlo certo; podem ser separados por espaços, hífenes e pontos.',
    '1 to 64 letters, digits, `_` and `-`. A request with the same account, key, path and body within ten minutes is answered again, and what was charged before is free. Another body is another request.':
      'De 1 a 64 letras, algarismos, `_` e `-`. Um pedido com a mesma conta, chave, caminho e corpo no prazo de dez minutos volta a ter resposta, e o que já foi cobrado não se paga outra vez. Outro corpo é outro pedido.',
    'In `changes-expired` and `activity-expired`: the cursor after which all that is kept follows.':
      'Em `changes-expired` e `activity-expired`: o cursor a que se segue tudo o que está guardado.',
    'At most 1000, oldest first.': 'No máximo 1000, as mais antigas primeiro.',
    'Credits that the row cost: negative in a `return`, 0 in an `answer`.':
      'Créditos que a linha custou: negativos num `return`, 0 num `answer`.',
    'Method and path of the endpoint, or the name of the tool.':
      'Método e caminho da operação, ou o nome da ferramenta.',
    'Names the row; ids rise in the order of the rows.':
      'Identifica a linha; os identificadores crescem pela ordem das linhas.',
    'Our id of the call: its rows have the same one. `null` in a row with `unlisted`.':
      'O nosso identificador da chamada, comum às suas linhas. `null` numa linha com `unlisted`.',
    'The `X-Request-Id` of its answer, which is the one that you sent, if you did; otherwise `call`.':
      'O `X-Request-Id` da resposta, que é o que enviou, se o fez; se não, `call`.',
    'The `next` of an earlier answer: the rows since then. Without it: from the oldest on that is kept.':
      'O `next` de uma resposta anterior: as linhas desde então. Sem ele: desde a mais antiga que é guardada.',
    "The answer's status, in an `answer`.": 'O código da resposta, num `answer`.',
    'The id of the key; `null` means that the call was made in the dashboard.':
      'O identificador da chave; `null` significa que a chamada foi feita no painel.',
    'The kind of problem, in an `answer`; with a status of 200 it is that of an item. `null` means a repetition with the same `Idempotency-Key`.':
      'O tipo do problema, num `answer`; com o código 200 é o de um elemento. `null` significa uma repetição com a mesma `Idempotency-Key`.',
    'The row stands for so many further answers of the same seconds, which have no row.':
      'A linha vale por tantas outras respostas dos mesmos segundos, que não têm linha.',
    'When the call was charged, also in the row of a return; of an answer, when it was given. UTC.':
      'Quando a chamada foi cobrada, também na linha de uma devolução; numa resposta, quando foi dada. Em UTC.',
    'Whether further rows follow: ask again at once.': 'Se há mais linhas: peça de novo de imediato.',
    '`charge`: the call cost credits. `return`: some came back. `answer`: the answer was a problem or refused, or repeated an earlier one.':
      '`charge`: a chamada custou créditos. `return`: alguns foram devolvidos. `answer`: a resposta foi um problema ou uma recusa, ou repetiu uma anterior.',
    'In `service-unavailable`: seconds to wait.': 'Em `service-unavailable`: os segundos a esperar.',
    'A problem of a single item.': 'Um problema de um só elemento.',
    'The text as it was sent.': 'O texto como foi enviado.',
    'A list of 1 to 100: nine digits with a right check digit, as a number or a text; in a text spaces, hyphens and periods may separate them, and `PT` may stand directly before them. One that is not valid gets its problem in its place.':
      'Uma lista de 1 a 100: nove algarismos com o algarismo de controlo certo, como número ou como texto; num texto podem ser separados por espaços, hífenes e pontos, e `PT` pode vir imediatamente antes. Um que não seja válido recebe o seu problema no seu lugar.',
    'A list of 1 to 1000: nine digits with a right check digit, as a number or a text; in a text spaces, hyphens and periods may separate them, and `PT` may stand directly before them. One that is not valid gets its problem in its place.':
      'Uma lista de 1 a 1000: nove algarismos com o algarismo de controlo certo, como número ou como texto; num texto podem ser separados por espaços, hífenes e pontos, e `PT` pode vir imediatamente antes. Um que não seja válido recebe o seu problema no seu lugar.',
    'Of these companies alone: a list of 1 to 1000, each nine digits with a right check digit, as a number or a text; in a text spaces, hyphens and periods may separate them, and `PT` may stand directly before them. Without this member: of all.':
      'Só destas empresas: uma lista de 1 a 1000, cada uma com nove algarismos e o algarismo de controlo certo, como número ou como texto; num texto podem ser separados por espaços, hífenes e pontos, e `PT` pode vir imediatamente antes. Sem este membro: de todas.',
    'Costs one credit, except `monthly-quota-exceeded`, `key-budget-exceeded` and `key-budget-spent` (the credits did not suffice for this item).':
      'Custa um crédito, exceto `monthly-quota-exceeded`, `key-budget-exceeded` e `key-budget-spent` (os créditos não chegaram para este elemento).',
    'The date of the dataset of the tax authority; `null` means that none was ever imported, so its brackets say nothing.':
      'A data dos dados da Autoridade Tributária; `null` significa que nunca foram importados, e os seus escalões nada dizem.',
    'The list: of the tax authority, or of social security.':
      'A lista: da Autoridade Tributária ou da Segurança Social.',
    'The date of the dataset of social security; `null` means that none was ever imported, so its brackets say nothing.':
      'A data dos dados da Segurança Social; `null` significa que nunca foram importados, e os seus escalões nada dizem.',
    'Names the change; ids rise in the order of the changes.':
      'Identifica a alteração; os identificadores crescem pela ordem das alterações.',
    'When the dataset was imported, UTC.': 'Quando os dados foram importados, em UTC.',
    'Nine digits.': 'Nove algarismos.',
    '`ended` means that the company is no longer on the list of that date. It does not say that the debt was paid.':
      '`ended` significa que a empresa já não está na lista dessa data. Não diz que a dívida foi paga.',
    'The bracket before; `null` means that the company was not on the list.':
      'O escalão anterior; `null` significa que a empresa não estava na lista.',
    'The bracket since then; `null` means that the company is no longer on the list.':
      'O escalão desde então; `null` significa que a empresa já não está na lista.',
    'Date of the dataset that the change came with.': 'Data dos dados que trouxeram a alteração.',
    'At most 100, oldest first.': 'No máximo 100, as mais antigas primeiro.',
    'The `after` of the next request. Keep it once you have stored what is in `data`.':
      'O `after` do pedido seguinte. Guarde-o depois de ter guardado o que está em `data`.',
    'Whether further changes follow: ask again at once.': 'Se há mais alterações: peça de novo de imediato.',
    'The `next` of an earlier answer: the changes since then. `null` means from the oldest on that is kept (90 days).':
      'O `next` de uma resposta anterior: as alterações desde então. `null` significa desde a mais antiga que é guardada (90 dias).',
    'Of these lists alone: `tax` or `social_security`. Without this member: of both.':
      'Só destas listas: `tax` ou `social_security`. Sem este membro: de ambas.',
    'Nine-digit NIF.': 'NIF de nove algarismos.',
    'Legal name.': 'Denominação.',
    'Currently always empty.': 'Por agora sempre vazio.',
    "A list of 1 to 100: a company's name as somebody wrote it, or a text with a NIF. Its first 24 words are read, up to the 12th that is weighed. One that is not valid gets its problem in its place.":
      'Uma lista de 1 a 100: o nome de uma empresa como alguém o escreveu, ou um texto com um NIF. São lidas as suas primeiras 24 palavras, até à 12.ª que é pesada. Um que não seja válido recebe o seu problema no seu lugar.',
    'Costs one credit, and none without a candidate.': 'Custa um crédito, e nenhum sem candidata.',
    "How the candidate has the word, with the candidate's own words if they differ.":
      'Como a candidata tem a palavra, com as palavras da própria candidata se forem outras.',
    'One element a name, in the order asked.': 'Um elemento por nome, pela ordem pedida.',
    'One for each of `words`, in their order.': 'Um para cada palavra de `words`, pela sua ordem.',
    'The best first.': 'Do melhor para o pior.',
    "The candidate's words that are no evidence for any word.":
      'As palavras da candidata que não são prova de nenhuma palavra.',
    'The words of the name that are weighed. A word is heavier if fewer entries have it.':
      'As palavras do nome que são pesadas. Uma palavra pesa mais se menos entradas a tiverem.',
    'Weight of the words that the candidate has in another form than `same` or `joined`.':
      'Peso das palavras que a candidata tem noutra forma que não `same` ou `joined`.',
    'Weight of the words that the candidate lacks.': 'Peso das palavras que faltam à candidata.',
    'Whether the first candidate is the company without doubt.':
      'Se a primeira candidata é sem dúvida a empresa.',
    'In the order that the endpoint has.': 'Pela ordem que a operação define.',
    'Costs one credit, except `monthly-quota-exceeded`, `key-budget-exceeded` and `key-budget-spent` (the credits did not suffice for this item) and `service-unavailable` (ask again).':
      'Custa um crédito, exceto `monthly-quota-exceeded`, `key-budget-exceeded` e `key-budget-spent` (os créditos não chegaram para este elemento) e `service-unavailable` (repita o pedido).',
    'Identifies the kind; the address of a page about it.': 'Identifica o tipo; endereço de uma página.',
    'Where the account buys credits, if the service has such an address.':
      'Onde a conta compra créditos, se o serviço tiver esse endereço.',
    'The included allowance; absent for a key that has some rights only.':
      'Os créditos incluídos; ausente se a chave só tem alguns direitos.',
    'The kind in words.': 'O tipo por palavras.',
    'The status of the kind.': 'O código do tipo.',
    'What happened this time. Tell problems apart by `type`: texts may change.':
      'O que aconteceu desta vez. Distinga os problemas por `type`: os textos podem mudar.',
    'In `monthly-quota-exceeded`, as `limit` and `reset`.':
      'Em `monthly-quota-exceeded`, como `limit` e `reset`.',
    'When the included credits come back, or those of the key, UTC.':
      'Quando voltam os créditos incluídos, ou os da chave, em UTC.',
    'The name that the account gave it.': 'O nome que a conta lhe deu.',
    'The first characters of its secret.': 'Os primeiros caracteres do seu segredo.',
    'The key is refused from then on, UTC; `null` means never.':
      'A chave é recusada a partir de então, em UTC; `null` significa nunca.',
    'Its rights; `null` means all.': 'Os seus direitos; `null` significa todos.',
    'Credits that it can spend in a window.': 'Créditos que pode gastar num intervalo.',
    'The window, of UTC; `ever` has no end.': 'O intervalo, em UTC; `ever` não tem fim.',
    'Credits that it has spent in the window.': 'Créditos que gastou no intervalo.',
    'The end of the window; `null` means that there is none.':
      'O fim do intervalo; `null` significa que não há.',
    'Its budget; `null` means that the credits of the account are its only bound.':
      'O seu orçamento; `null` significa que só os créditos da conta a limitam.',
    'Whether it is a test key.': 'Se é uma chave de teste.',
    'A text that the source does not supply is empty.': 'Um texto que a fonte não indica está vazio.',
    'Names this request in the log.': 'Identifica este pedido no registo.',
    'Credits that this request was charged, less those refunded: 0 for a refusal, a 503, a repetition and a test key.':
      'Créditos cobrados por este pedido, menos os devolvidos: 0 numa recusa, num 503, numa repetição e com uma chave de teste.',
    'Whole tokens remaining after the admission attempt.': 'Pedidos inteiros que restam depois deste.',
    'Unix time in seconds when at least one token is available.':
      'Hora Unix, em segundos, a que há pelo menos um pedido disponível.',
    'The policy as `<limit>;w=60`.': 'A política, como `<limit>;w=60`.',
    '`true` if the key is a test key: the answer is about invented companies, and has cost nothing.':
      '`true` se a chave é de teste: a resposta é sobre empresas inventadas, e nada custou.',
    '`8 of N`, if the query has over 8 words: only the first ones were asked.':
      '`8 of N`, se a pesquisa tiver mais de 8 palavras: só contaram as primeiras.',
    'Where the record is from: `nif.pt`, `vies` or `einforma`.':
      'De onde são os dados: `nif.pt`, `vies` ou `einforma`.',
    'When it was fetched there.': 'Quando foram obtidos.',
    'Always `Bearer`.': 'Sempre `Bearer`.',
    'Seconds to wait.': 'Segundos a esperar.',
    'Lower amount of the bracket, in euros.': 'Valor inferior do escalão, em euros.',
    'Upper amount; `null` means open-ended.': 'Valor superior; `null` significa sem limite.',
    'Date of the source dataset.': 'Data dos dados de origem.',
    'The NIF as a number.': 'O NIF como número.',
    'Address.': 'Morada.',
    'Postal code.': 'Código postal.',
    'City or locality.': 'Cidade ou localidade.',
    'Activity description.': 'Descrição da atividade.',
    'Status text of the data provider; free text.': 'Situação segundo o fornecedor de dados; texto livre.',
    'Primary economic activity code.': 'CAE principal.',
    'Legal nature.': 'Natureza jurídica.',
    'Share capital, a decimal string; `0` when not supplied.':
      'Capital social, um número decimal em texto; `0` se não for indicado.',
    'Currency of the capital; `EUR` when not supplied.': 'Moeda do capital; `EUR` se não for indicada.',
    'Tax-authority debt bracket; `null` means none in the dataset, which does not mean no debt.':
      'Escalão de dívida fiscal; `null` significa que não consta dos dados, e não que não há dívida.',
    'Social-security debt bracket; `null` as above.': 'O mesmo, da dívida à Segurança Social.',
    'Costs one credit.': 'Custa um crédito.',
    'Costs one credit, except `monthly-quota-exceeded`, `key-budget-exceeded` and `key-budget-spent` (the credits did not suffice for this item) and `service-unavailable` (the request refreshes too many other companies, so ask again; or refreshes are used up).':
      'Custa um crédito, exceto `monthly-quota-exceeded`, `key-budget-exceeded` e `key-budget-spent` (os créditos não chegaram para este elemento) e `service-unavailable` (o pedido atualiza demasiadas outras empresas, por isso repita-o; ou as atualizações acabaram).',
    'One element a NIF, in the order asked.': 'Um elemento por NIF, pela ordem do pedido.',
    'Effective plan.': 'Plano em vigor.',
    'Remaining purchased credits, separate from the included allowance.': 'Créditos comprados que restam.',
    'Next reset of the included credits, UTC.': 'Próxima renovação dos créditos incluídos, em UTC.',
    'Bucket capacity and refill rate, requests per minute.': 'Limite e recuperação, em pedidos por minuto.',
    'Whole tokens remaining after this request.': 'Pedidos inteiros que restam depois deste.',
    'Start date of the quota period.': 'Data de início do período.',
    'Credits that the account can still spend: included ones, and purchased ones if it spends them.':
      'Créditos que a conta ainda pode gastar: os incluídos, e os comprados se os gasta.',
    'Whether purchased credits pay for calls beyond the included allowance.':
      'Se os créditos comprados pagam as chamadas além dos créditos incluídos.',
    'Date of the last instant inside the period.': 'Data do último instante do período.',
    'Credits consumed in the period, purchased ones included.':
      'Créditos usados no período, incluindo os comprados.',
    'Included credit allowance of the period.': 'Créditos incluídos no período.',
    'Keys of the account that are neither revoked nor expired.':
      'Chaves da conta que não foram revogadas nem expiraram.',
    'Key quota; `null` means unlimited, as on Plus, which has room for 10,000.':
      'Limite de chaves; `null` significa sem limite, como no plano Plus, que prevê 10 000.',
    'The directory that searches find companies in.': 'O diretório em que as pesquisas encontram empresas.',
    'How many companies it has.': 'Quantas empresas tem.',
    'When the directory was last imported, UTC; `null` means never.':
      'Quando o diretório foi importado pela última vez, em UTC; `null` significa nunca.',
    'Debt brackets published by the tax authority; `null` means that none were ever imported.':
      'Escalões de dívida publicados pela Autoridade Tributária; `null` significa que nunca foram importados.',
    "The dataset's own date.": 'A data dos próprios dados.',
    'Debt brackets published by social security; `null` means that none were ever imported.':
      'Escalões de dívida publicados pela Segurança Social; `null` significa que nunca foram importados.',
  } as Record<string, string>,
  problems: {
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
      title: 'O orçamento da chave acabou',
      cause:
        'A chave tem um orçamento de créditos por dia ou por mês (UTC), e gastou-o. A conta pode ter créditos.',
      fix: 'Espere até à data de renovação (`reset`), ou peça ao proprietário da conta um orçamento maior ou outra chave. Nenhum crédito foi cobrado.',
    },
    'key-budget-spent': {
      title: 'O orçamento da chave está gasto',
      cause: 'A chave tem um orçamento de créditos que não se renova, e gastou-o.',
      fix: 'Peça ao proprietário da conta um orçamento maior ou outra chave. Nenhum crédito foi cobrado.',
    },
    'not-permitted': {
      title: 'A chave não tem este direito',
      cause: 'A chave só tem alguns direitos, e esta operação ou ferramenta não está entre eles.',
      fix: 'Peça ao proprietário da conta uma chave com este direito. `GET /key` diz que direitos a chave tem. Nada foi cobrado.',
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
  } satisfies Record<ProblemName, { title: string; cause: string; fix: string }>,
};
