import type { Texts } from '../ui/in-language.ts';

export const REFERENCE_TEXTS = {
  frontTitle: ['Portuguese companies, by one API', 'As empresas portuguesas, numa só API'],
  aboutAgents: `A JSON API for programs, a dashboard for people, and tools for assistants (MCP).
    Uma API JSON para programas, um painel para pessoas e ferramentas para assistentes (MCP).`,
  aboutCost: `A search or a lookup costs 1 credit. Beyond your credits or limits requests are refused, at no cost. A test key is free. An account is free, with credits each month.
    Uma pesquisa ou uma consulta custa 1 crédito. Além dos seus créditos ou limites, os pedidos são recusados, sem custo. Uma chave de teste é gratuita. A conta é gratuita, com créditos todos os meses.`,
  referenceLead: `Every endpoint, with an example that runs when your key is in the variable API_KEY. A test key gets the answers shown, except those about usage.
    Todas as operações, com um exemplo que funciona com a sua chave na variável API_KEY. Uma chave de teste recebe as respostas indicadas, exceto as da utilização.`,
  forAgents: ['For agents (MCP)', 'Para agentes (MCP)'],
  forGenerators: ['for code generators', 'para geradores de código'],
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
  exampleInvented: `Its company is invented: a test key gets it.
    A empresa é inventada: é o que recebe uma chave de teste.`,
  onThisPage: ['On this page', 'Nesta página'],
  problems: ['Problems', 'Problemas'],
  testKeys: ['Test keys', 'Chaves de teste'],
  testKeysLead: `
    A test key (svc_test_…) is free and has invented companies. A lookup or a list with the NIF, or a query that is the word, gets the problem.
    Uma chave de teste (svc_test_…) é gratuita e tem empresas inventadas. Uma consulta ou uma lista com o NIF, ou uma pesquisa igual à palavra, recebe o problema.`,
  word: ['Word', 'Palavra'],
  problemsLead: `Failures are application/problem+json (RFC 9457). The last segment of their type is the kind.
    As falhas são application/problem+json (RFC 9457). O último segmento do seu type é o tipo.`,
  statusCode: ['Status', 'Código'],
  cause: ['Cause', 'Causa'],
  whatToDo: ['What to do', 'O que fazer'],
  schemas: ['Schemas', 'Esquemas'],
  type: ['Type', 'Tipo'],
} as const satisfies Texts;
