/**
 * Whether the descriptions of the tools suffice to choose one. An agent without any knowledge of the API gets ten tasks. It takes the tool
 * whose name, description and inputs share the rarest words with the task, fills its input by the schema, and calls it. Its key is a
 * test key.
 */
import { afterAll, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startApi } from '../support/api.ts';
import { createTestKey } from '../support/service.ts';

interface Listed {
  name: string;
  description?: string;
  inputSchema: { properties?: Record<string, unknown>; required?: string[] };
}

const [A, B, C] = ['599910011', '599910020', '599910208'];

/** The task, the tool that answers it, and what the answer has to hold. */
const TASKS: [task: string, tool: string, answer: RegExp][] = [
  [
    'Find the NIF of the company whose name begins with "padaria abaco filhos".',
    'search_companies',
    /599910020/,
  ],
  [
    'Does a company with the exact name "Livraria Til & Cedilha, Lda" exist?',
    'search_companies',
    /599910208/,
  ],
  [
    'Which companies do the names "Padaria Abacco & Filhos" and "Livraria Cedilha" stand for, as a person has written them?',
    'resolve_companies',
    /599910020.*599910208/,
  ],
  [`What is the address and the capital of the company with NIF ${A}?`, 'get_company', /Rua das Invenções/],
  [
    `Which of these suppliers owe social security: ${A}, ${B}, ${C}?`,
    'check_debts',
    /"social_security_debt":null/,
  ],
  [
    `Has ${A} or ${B} appeared in a list of debtors since October, or changed its bracket?`,
    'list_debt_changes',
    /"next":"chg_/,
  ],
  [`Get the activity and status of each of these companies: ${A}, ${B}.`, 'get_companies', /"activity"/],
  ['How many credits do we have left, and when do they reset?', 'get_usage', /"resetAt"/],
  ['Which plan does our account have, and how many requests a minute?', 'get_usage', /"plan":"free"/],
  [
    'How old is the list of social security debtors, and was it ever imported?',
    'list_datasets',
    /"social_security":\{"date"/,
  ],
  ['How many companies does the directory have?', 'list_datasets', /"companies":31/],
];

const api = await startApi();
const { accountId } = await api.caller({ limits: { requestsPerMinute: 100 } });
const key = await createTestKey(api.sql, accountId);
const client = new Client({ name: 'agent', version: '1' });
const requestInit = { headers: { Authorization: `Bearer ${key}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(`${api.baseUrl}/mcp`), { requestInit }));
afterAll(async () => {
  await client.close();
  await api.stop();
});

test.each(TASKS)('%s → %s', async (task, tool, answer) => {
  const { tools } = await client.listTools();
  const chosen = choose(tools as Listed[], task);
  expect(chosen.name).toBe(tool);
  const result = await client.callTool({ name: chosen.name, arguments: inputOf(chosen, task) });
  expect(result.isError ?? false).toBe(false);
  expect((result.content as { text: string }[])[0]!.text).toMatch(answer);
});

const namesOf = (task: string) => [...task.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);
const nifsOf = (task: string) => task.match(/\b\d{9}\b/g) ?? [];

/** A tool can answer a task only if the task has what its input needs. One NIF needs no list, and several need one. */
function canTake({ inputSchema: { properties = {}, required = [] } }: Listed, task: string): boolean {
  const nifs = nifsOf(task).length;
  const names = namesOf(task).length;
  const given = { q: names === 1, names: names > 1, nif: nifs === 1, nifs: nifs > 1, after: true };
  const takesNifs = 'nif' in properties || 'nifs' in properties;
  return required.every((name) => given[name as 'q']) && (takesNifs || nifs === 0);
}

function choose(tools: Listed[], task: string): Listed {
  const texts = new Map(tools.map((tool) => [tool, wordsOf(`${tool.name} ${tool.description}`)]));
  const rarity = (word: string) =>
    Math.log(tools.length / [...texts.values()].filter((words) => words.has(word)).length);
  const score = (tool: Listed) =>
    [...wordsOf(task)]
      .filter((word) => texts.get(tool)!.has(word))
      .reduce((sum, word) => sum + rarity(word), 0);
  return tools.filter((tool) => canTake(tool, task)).toSorted((a, b) => score(b) - score(a))[0]!;
}

/** Words without their endings, so that `debtor` and `debtors` are the same. */
function wordsOf(text: string): Set<string> {
  return new Set((text.toLowerCase().match(/[a-z]+/g) ?? []).map((word) => word.replace(/(ies|es|s)$/, '')));
}

function inputOf({ inputSchema: { properties = {} } }: Listed, task: string): Record<string, unknown> {
  const names = namesOf(task);
  const input = { q: names[0], names, nif: nifsOf(task)[0], nifs: nifsOf(task), after: null };
  return Object.fromEntries(Object.entries(input).filter(([name]) => name in properties));
}
