/**
 * Whether the descriptions of the tools suffice to choose one. An agent without any knowledge of the API gets ten tasks. It takes the tool
 * whose name, description and inputs share the rarest words with the task, fills its input by the schema, and calls it. Its key is a
 * test key.
 */
import { afterAll, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { TextNifSchema } from '../../src/companies/nif-parameter.ts';
import { costOf } from '../../src/http/api-route.ts';
import { explain, PROBLEMS, type ProblemName } from '../../src/http/problems.ts';
import { DEFINITIONS, TOOLS } from '../../src/mcp/tools.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { startApi } from '../support/api.ts';
import { csv } from '../support/companies.ts';
import { resultOf } from '../support/mcp.ts';
import { nifPtFound } from '../support/provider.ts';
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

const api = await startApi({ directory: csv(1, 4) });
api.provider.answerAll((nif) => nifPtFound(nif));
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

// Wrong calls, as models make them. The text of each answer alone has to lead to the right next call: it names the member, says
// what it takes and gives an example. The example is then called, and has to work.

type Input = Record<string, unknown>;

const VALID = '599910020';
const BAD = '599910012';
const NAME = /company name or (a )?NIF/i;
const LIST = /1 to 25: nine digits/;
const HUNDRED = /1 to 100: nine digits/;
const CURSOR = /`next` of an earlier answer.*`null`/;

/** The call, the member that is wrong, what the text has to say that it takes, and further input of the call that a model makes of it. */
const WRONG: [tool: string, input: Input, member: string, takes: RegExp, further?: Input][] = [
  ['search_companies', {}, 'q', NAME],
  ['search_companies', { name: 'padaria' }, 'q', NAME],
  ['search_companies', { q: '  ' }, 'q', NAME],
  ['search_companies', { q: ['padaria'] }, 'q', NAME],
  ['resolve_companies', { name: 'padaria' }, 'names', /1 to 25: a company's name/],
  ['get_company', {}, 'nif', /Nine digits/],
  ['get_company', { nifs: [VALID] }, 'nif', /missing.* Nine digits/],
  ['get_company', { nif: [VALID] }, 'nif', /Nine digits/],
  ['get_company', { nif: 'Padaria, Lda' }, 'NIF', /nine digits/],
  ['get_company', { nif: BAD }, 'NIF', /check digit is wrong/],
  ['get_company', { nif: `PT  ${VALID}` }, 'NIF', /not nine digits/],
  ['get_companies', { nif: VALID }, 'nifs', LIST],
  ['get_companies', { nifs: VALID }, 'nifs', LIST],
  ['get_companies', { nifs: [] }, 'nifs', LIST],
  ['get_companies', { nifs: Array(26).fill(VALID) }, 'nifs', LIST],
  ['check_debts', { nifs: Array(101).fill(VALID) }, 'nifs', HUNDRED],
  ['check_debts', { nifs: [12] }, 'nifs', HUNDRED],
  ['check_debts', { nifs: [{ nif: VALID }] }, 'nifs', HUNDRED],
  ['list_debt_changes', { nifs: [VALID] }, 'after', CURSOR],
  ['list_debt_changes', { after: '2026-10-01' }, 'after', CURSOR],
  ['list_debt_changes', { after: 'chg_9000000000000001' }, 'after', CURSOR],
  [
    'list_debt_changes',
    { after: null, kinds: ['fiscal'] },
    'kinds',
    /`tax` or `social_security`/,
    { after: null },
  ],
  [
    'list_debt_changes',
    { after: null, nifs: [VALID, BAD] },
    'nifs',
    /number 2,.*check digit/,
    { after: null },
  ],
];

/** The example of a text: as JSON, or as it stands, which is an item if a list is wanted. */
function exampleValue(example: string, member: string): unknown {
  if (/^["[{]|^null$/.test(example)) return JSON.parse(example);
  return member === 'nifs' ? [example] : example;
}

async function ask(key: string, name: string, input: Input): Promise<{ isError: boolean; text: string }> {
  const { isError = false, content } = await resultOf(api, name, input, { key });
  return { isError, text: content[0].text };
}

test('the text of each answer to a wrong call leads to a call that works', async () => {
  const { key } = await api.caller({ limits: { requestsPerMinute: 100 } });
  for (const [tool, input, member, takes, further] of WRONG) {
    const { isError, text } = await ask(key, tool, input);
    const call = `${tool} ${JSON.stringify(input)}: ${text}`;
    expect([isError, call]).toEqual([true, expect.stringMatching(takes)]);
    expect(text).toMatch(new RegExp(member === 'NIF' ? 'The NIF' : `["\`]${member}["\`]`));
    const example = /(?:[Ff]or example: |A valid one is )(.+?)\. Correct what/.exec(text)?.[1];
    expect([call, example]).toEqual([call, expect.any(String)]);
    const next = { ...further, [member.toLowerCase()]: exampleValue(example!, member) };
    expect(await ask(key, tool, next)).toMatchObject({ isError: false });
    // An input of another tool is no remedy for this call.
    const { properties } = DEFINITIONS.find(({ name }) => name === tool)!.inputSchema as Input;
    for (const other of ['q', 'nifs', 'kinds']) {
      if (!(other in (properties as Input))) expect(text).not.toMatch(new RegExp(`["\`]${other}["\`]`));
    }
  }
});

test('an input that does not exist is refused where the route takes a body, and the text names those that do', async () => {
  const caller = await api.caller();
  for (const input of [{ nif: VALID }, { companies: [VALID] }, { nifs: [VALID], kind: 'tax' }]) {
    const { isError, text } = await ask(caller.key, 'list_debt_changes', { after: null, ...input });
    expect([isError, text]).toEqual([true, expect.stringContaining('"after", "nifs", "kinds"')]);
  }
  expect((await api.ledger(caller)).used).toBe(3);
  for (const { name, inputSchema } of DEFINITIONS) {
    const { additionalProperties = true } = inputSchema as Input;
    expect([name, additionalProperties]).toEqual([name, TOOLS.get(name)!.route.body === undefined]);
  }
});

test('without credits the text says to stop and tell the user, and no seconds to wait', async () => {
  const { accountId, key } = await api.caller({ included: 1 });
  await api.sql`UPDATE balances SET used = 1 WHERE account_id = ${accountId}`;
  for (const { name, _meta } of DEFINITIONS) {
    if (_meta.cost === 'no credit') continue;
    const { isError, text } = await ask(key, name, { q: 'a', nif: VALID, nifs: [VALID], after: null });
    expect([name, isError]).toEqual([name, true]);
    expect(text).toMatch(/available again at \d{4}-.*Stop, and tell the user to buy credits,/);
    expect(text).not.toMatch(/\d s\b/);
  }
});

// What a host is told of each tool, by its definition alone.

const tools = [...TOOLS.values()];

test('there are at most eight tools, each of another route of the API', () => {
  expect(tools.length).toBeLessThanOrEqual(8);
  expect(new Set(tools.map(({ route }) => route)).size).toBe(tools.length);
  for (const { route } of tools) expect(API_ROUTES).toContain(route);
});

test.each(DEFINITIONS)(
  '$name: under 60 words, with its price; its input is that of its route',
  (definition) => {
    const { name, description, inputSchema } = definition;
    expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/);
    expect(description.split(/\s+/).length).toBeLessThan(60);
    const { route } = TOOLS.get(name)!;
    const price = route.charge === null ? /Costs no credit\.$/ : /Costs one credit( for each .+)?\.$/;
    expect(description).toMatch(price);
    const { params, query, body } = route;
    const input = Object.assign({}, ...[params, query, body].map((part) => part?.properties));
    // A path takes no PT.
    if (name === 'get_company') input.nif = TextNifSchema;
    const published = JSON.parse(JSON.stringify({ type: 'object', properties: input }, withoutBounds));
    expect(inputSchema).toMatchObject(published);
  },
);

/** A tool may take fewer items than its route, and then says so. */
function withoutBounds(key: string, value: unknown): unknown {
  return key === 'maxItems' || (key === 'description' && /^A list of 1 to /.test(String(value)))
    ? undefined
    : value;
}

test.each(DEFINITIONS)('$name tells a host what it costs, and changes nothing', (definition) => {
  const { name, title, annotations, _meta } = definition;
  const cost = costOf(TOOLS.get(name)!.route);
  expect(title).toContain(`(${cost})`);
  expect(annotations).toEqual({
    title,
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: ['get_company', 'get_companies'].includes(name),
  });
  expect(_meta).toEqual({ cost });
});

test('the output of a tool is the answer of its route, or a problem; both are open', () => {
  for (const { name, outputSchema } of DEFINITIONS) {
    const { route, otherwise } = TOOLS.get(name)!;
    const answers = [route, otherwise].flatMap((one) => (one ? [{ required: one.success.required }] : []));
    expect(outputSchema).toMatchObject({
      type: 'object',
      anyOf: [...answers, { required: ['type', 'title', 'status', 'detail'] }],
    });
    expect(JSON.stringify(outputSchema)).not.toMatch(/"\$id"|"\$ref"|additionalProperties/);
  }
  // With their words they are some 8,500 tokens, which hosts give to a model.
  const shown = JSON.stringify(DEFINITIONS.map(({ outputSchema }) => outputSchema));
  const whole = JSON.stringify(
    [...TOOLS.values()].map(({ route, otherwise }) => [route.success, otherwise?.success]),
  );
  expect(shown.length).toBeLessThan(0.4 * whole.length);
});

test('a text of a model says where credits are bought, and never to wait for hours', () => {
  const buy = 'https://shop.example/?a=1';
  expect(
    explain({ kind: 'monthly-quota-exceeded', headers: { 'Retry-After': '616427' }, buy }, true, 'id'),
  ).toMatch(/Stop, and tell the user to buy credits at https:\/\/shop\.example\/\?a=1, /);
  const busy = (wait: string) =>
    explain({ kind: 'service-unavailable', headers: { 'Retry-After': wait } }, true, 'id');
  expect(busy('2')).toEndWith('Wait 2 s, then call again. No credit was charged.');
  expect(busy('7201')).toEndWith(
    'Stop, and tell the user that this works again within 3 h. No credit was charged.',
  );
});

test('the text of a fault of the service has the id of the request, and no other text does', () => {
  const faults = Object.entries(PROBLEMS).filter(([, { status }]) => status === 500);
  for (const [kind] of faults)
    expect(explain({ kind: kind as ProblemName }, true, 'req-1')).toEndWith('The `X-Request-Id` is req-1.');
  for (const kind of Object.keys(PROBLEMS).filter((kind) => faults.every(([fault]) => fault !== kind)))
    expect(explain({ kind: kind as ProblemName }, true, 'req-1')).not.toContain('req-1');
});
