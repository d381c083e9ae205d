import { WORLD } from '../../companies/test-world/world.ts';
import { BASE_PATH, MCP_PATH } from '../../http/api-route.ts';
import type { OpenApi, Operation, Schema } from '../../http/openapi.ts';
import { PROBLEMS, type ProblemName, REASONS, type Reason } from '../../http/problems.ts';
import type { Config } from '../../platform/config/config.ts';
import type { LayoutTools } from '../context.ts';
import type { Messages } from '../messages.ts';
import { type Column, facts, type Html, type HtmlValue, html, scrollTable, table } from '../ui/html.ts';
import type { Language } from '../ui/language.ts';
import { codeSamples, type SampleCall } from './code-samples.ts';

/** The problems that the service can answer. */
export function problemsOf({ debtChanges, activityDays }: Config): ProblemName[] {
  const isOff = new Map<ProblemName, boolean>([
    ['changes-expired', debtChanges === 'off'],
    ['activity-expired', activityDays === 0],
  ]);
  return (Object.keys(PROBLEMS) as ProblemName[]).filter((kind) => isOff.get(kind) !== true);
}

/** The meaning of a problem, in the reader's language. */
export function problemText(kind: ProblemName, language: Language) {
  return language === 'pt' ? PROBLEMS[kind].pt : PROBLEMS[kind];
}

/** Why a problem was answered, in the reader's language. */
export const reasonText = (reason: Reason, language: Language): string =>
  REASONS[reason][language === 'pt' ? 1 : 0];

/**
 * The reference of the API: the OpenAPI document as a page, with an example of each call in three languages. Headings, costs and problems
 * are in the reader's language; descriptions are in English alone, as the document is.
 */
export function referenceBody(messages: Messages, document: OpenApi, { root, config }: LayoutTools): Html {
  const problems = problemsOf(config);
  const base = document.servers[0]!.url;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  );
  return html`
<h1>${messages.reference}</h1>
<p class="lead">${messages.referenceLead}</p>
<section class="card">
  ${facts([
    [messages.baseAddress, html`<code>${base}</code>`],
    [messages.authentication, html`<code>Authorization: Bearer svc_…</code>`],
    [messages.forAgents, html`<code>${base.replace(BASE_PATH, MCP_PATH)}</code>`],
    ['OpenAPI 3.1', html`<a href="${root}/openapi/json">/openapi/json</a> ${messages.forGenerators}`],
  ])}
</section>
<div class="reference">
${sideNavigation(messages, operations, problems)}
<div>
${operations.map((operation) => endpoint(messages, base, operation))}
${headersSection(messages, operations)}
${problemsSection(messages, problems, root)}
${testKeysSection(messages)}
<section class="card" aria-labelledby="schemas">
  <h2 id="schemas">${messages.schemas}</h2>
  ${Object.entries(document.components.schemas).map(([name, schema]) => schemaTables(messages, name, schema))}
</section>
</div>
</div>`;
}

/** Links to everything on the page. */
function sideNavigation(messages: Messages, operations: Endpoint[], problems: ProblemName[]): Html {
  const list = (links: [id: string, text: HtmlValue][]) =>
    html`<ul>${links.map(([id, text]) => html`<li><a href="#${id}">${text}</a></li>`)}</ul>`;
  return html`
<nav class="card side" aria-label="${messages.onThisPage}">
  <details>
    <summary>${messages.onThisPage}</summary>
    ${list(operations.map((operation) => [operation.operationId, headingsOf(operation, messages).summary]))}
    <p><a href="#headers">${messages.answerHeaders}</a></p>
    <p><a href="#problems">${messages.problems}</a></p>
    ${list(problems.map((kind) => [`problem-${kind}`, html`<code>${kind}</code>`]))}
    <p><a href="#test-keys">${messages.testKeys}</a></p>
    <p><a href="#schemas">${messages.schemas}</a></p>
  </details>
</nav>`;
}

type Endpoint = Operation & { path: string; method: string };

function endpoint(messages: Messages, base: string, operation: Endpoint): Html {
  const { path, method, operationId, description, parameters, requestBody, responses } = operation;
  const { summary, cost } = headingsOf(operation, messages);
  // The badge says what a call costs.
  const paragraphs = description.split('\n\n').filter((text) => text !== `Costs ${operation['x-cost']}.`);
  const body = requestBody?.content['application/json'];
  const answer = responses[200]!.content['application/json']!;
  const call: SampleCall = { id: operationId, method, address: addressOf(base, path, parameters) };
  if (body !== undefined) call.body = body.example;
  const headings = [messages.parameter, messages.place, messages.meaning];
  const rows = parameters.map(({ name, in: place, description }) => [
    html`<code>${name}</code>`,
    messages.places[place],
    described(description),
  ]);
  const kinds = Object.entries(responses).flatMap(([status, { content }]) =>
    Object.values(content).flatMap(({ examples }) =>
      Object.keys(examples ?? {}).map((kind) => ({ status, kind })),
    ),
  );
  return html`
<section class="card halves" aria-labelledby="${operationId}">
  <div>
    <h2 id="${operationId}">${summary}</h2>
    <p><code>${method} ${new URL(base).pathname + path}</code> <span class="badge">${cost}</span></p>
    ${paragraphs.map((paragraph) => html`<p lang="en">${prose(paragraph)}</p>`)}
    ${rows.length > 0 && scrollTable(`${messages.parameters}: ${summary}`, headings, rows)}
    ${body !== undefined && html`<p>${messages.requestBody}: ${typeOf(body.schema)}</p>`}
    <p>${messages.answer}: <code>200</code> ${typeOf(answer.schema)}</p>
    <p class="hint contents">${kinds.map(({ status, kind }) => html`<a href="#problem-${kind}"><code>${status} ${kind}</code></a> `)}</p>
  </div>
  <div>
    ${codeSamples(messages, call)}
    <h3>${messages.exampleAnswer}</h3>
    <pre lang="en" tabindex="0" role="group" aria-label="${messages.exampleAnswer}: ${summary}">${JSON.stringify(answer.example, null, 2)}</pre>
  </div>
</section>`;
}

/** The address of an example call. */
export function addressOf(base: string, path: string, parameters: Operation['parameters']): string {
  let address = base + path;
  for (const { name, in: place, example } of parameters) {
    const value = encodeURIComponent(example);
    if (place === 'path') address = address.replace(`{${name}}`, value);
    else if (place === 'query') address += `${address.includes('?') ? '&' : '?'}${name}=${value}`;
  }
  return address;
}

/** Every header of an answer, as its first status describes it. */
function headersSection(messages: Messages, operations: Endpoint[]): Html {
  const headers = operations.flatMap(({ responses }) => Object.values(responses).map((one) => one.headers));
  const all: (typeof headers)[number] = Object.assign({}, ...headers.toReversed());
  const rows = Object.entries(all).map(([name, { schema, description }]) => [
    html`<code>${name}</code>`,
    typeOf(schema),
    described(description),
  ]);
  const headings = [messages.headerName, messages.type, messages.meaning];
  return html`
<section class="card" aria-labelledby="headers">
  <h2 id="headers">${messages.answerHeaders}</h2>
  ${scrollTable(messages.answerHeaders, headings, rows)}
</section>`;
}

function problemsSection(messages: Messages, problems: ProblemName[], root: string): Html {
  const textOf = (kind: ProblemName) => problemText(kind, messages.language);
  const columns: Column<ProblemName>[] = [
    [
      messages.kind,
      (kind) => html`<a id="problem-${kind}" href="${root}/problems/${kind}"><code>${kind}</code></a>`,
    ],
    [messages.statusCode, (kind) => PROBLEMS[kind].status],
    [messages.cause, (kind) => prose(textOf(kind).cause)],
    [messages.whatToDo, (kind) => prose(textOf(kind).fix)],
  ];
  return html`
<section class="card" aria-labelledby="problems">
  <h2 id="problems">${messages.problems}</h2>
  <p>${prose(messages.problemsLead)}</p>
  ${table(columns, problems, 'problems')}
</section>`;
}

/** The NIF and the word that call up each problem for a test key. */
function testKeysSection(messages: Messages): Html {
  const rows = WORLD.problems.map(({ kind, nif }) => [
    html`<code>${nif}</code>`,
    html`<code>${kind}</code>`,
    kind === 'slow-answer' ? '200, 3 s' : PROBLEMS[kind].status,
  ]);
  return html`
<section class="card" aria-labelledby="test-keys">
  <h2 id="test-keys">${messages.testKeys}</h2>
  <p>${prose(messages.testKeysLead)}</p>
  ${scrollTable(messages.testKeys, ['NIF', messages.word, messages.statusCode], rows)}
</section>`;
}

/** The members of an object, or the named schemas of a union. */
function schemaTables(messages: Messages, name: string, schema: Schema): Html {
  const title = html`<h3 id="schema-${name}">${name}</h3>`;
  // Each variant has its name and its table.
  if (schema.properties === undefined)
    return html`\n<div class="schema">${title}\n<p>${typeOf(schema)}</p></div>`;
  const headings = [messages.member, messages.type, messages.meaning];
  const rows = Object.entries(schema.properties).map(([member, of]) => [
    html`<code>${member}</code>`,
    typeOf(of),
    described(of.description),
  ]);
  return html`
<div class="schema">
${title}
${schema.description !== undefined && html`<p class="hint">${described(schema.description)}</p>`}
${scrollTable(name, headings, rows)}
</div>`;
}

/** The type of a member, with a link to a schema that has a name. */
function typeOf(schema: Schema): HtmlValue {
  const name = schema.$ref?.split('/').pop();
  if (name !== undefined) return html`<a href="#schema-${name}"><code>${name}</code></a>`;
  if (schema.enum !== undefined)
    return html`<code>${schema.enum.map((one) => JSON.stringify(one)).join(' | ')}</code>`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.anyOf !== undefined)
    return schema.anyOf.map((option, index) => [index > 0 && ' | ', typeOf(option)]);
  if (schema.items !== undefined) {
    const { anyOf, enum: values } = schema.items;
    return anyOf || values ? html`(${typeOf(schema.items)})[]` : html`${typeOf(schema.items)}[]`;
  }
  return schema.format === undefined ? (schema.type ?? '') : `${schema.type} (${schema.format})`;
}

/** Text with `code` in backticks. */
export function prose(text: string): HtmlValue {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** The summary and the cost of an endpoint, in the reader's language. */
const headingsOf = (operation: Operation, { language }: Messages) =>
  language === 'pt' ? operation['x-pt'] : { summary: operation.summary, cost: operation['x-cost'] };

/** A description of the OpenAPI document, which is in English on every page. */
const described = (text = '') => html`<span lang="en">${prose(text)}</span>`;
