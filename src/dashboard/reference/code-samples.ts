import type { Messages } from '../messages.ts';
import { copyable, type Html, html } from '../ui/html.ts';

/** A query that finds something: many Portuguese companies have this word in their names. */
export const EXAMPLE_QUERY = 'padaria';

/** A call of the API that works as it stands, with a key in the environment variable `API_KEY`. */
export interface SampleCall {
  /** Of the page's elements. */
  id: string;
  method: string;
  address: string;
  /** Sent as JSON, if present. */
  body?: unknown;
}

/** Value, name and example. */
const LANGUAGES = [
  ['curl', 'curl', curl],
  ['javascript', 'JavaScript', javascript],
  ['python', 'Python', python],
] as const;

/** One example at a time: the choice is of radio buttons, so that it works without scripts. */
export function codeSamples(messages: Messages, call: SampleCall): Html {
  const { id } = call;
  return html`
<fieldset class="samples">
  <legend class="unseen">${messages.example}</legend>
  ${LANGUAGES.map(
    ([value, label], index) =>
      html`<input class="unseen" type="radio" name="sample-${id}" id="${id}-${value}" value="${value}"${index === 0 && html` checked`}><label for="${id}-${value}">${label}</label>`,
  )}
  ${LANGUAGES.map(([value, label, write]) =>
    copyable(messages, { id: `sample-${id}-${value}`, label, text: write(call), sample: value }),
  )}
</fieldset>`;
}

export function curl({ address, body }: Pick<SampleCall, 'address' | 'body'>): string {
  const data =
    body === undefined
      ? ''
      : ` \\\n  -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
  // A quote in a query would end the text of a shell.
  return `curl -s '${address.replaceAll("'", '%27')}' \\\n  -H "Authorization: Bearer $API_KEY"${data}`;
}

function javascript({ method, address, body }: SampleCall): string {
  const isPost = body !== undefined;
  const headers = ['Authorization: `Bearer $' + '{process.env.API_KEY}`'];
  if (isPost) headers.push("'Content-Type': 'application/json'");
  const options = [`headers: { ${headers.join(', ')} }`];
  if (isPost) options.unshift(`method: '${method}'`);
  if (isPost) options.push(`body: JSON.stringify(${JSON.stringify(body)})`);
  return `// Node.js 18 or newer: node example.mjs
const response = await fetch('${address}', {
  ${options.join(',\n  ')},
});
const answer = await response.json();
if (!response.ok) throw new Error(\`\${answer.type}: \${answer.detail}\`);
console.log(JSON.stringify(answer, null, 2));`;
}

function python({ method, address, body }: SampleCall): string {
  const options = [`headers={"Authorization": f"Bearer {os.environ['API_KEY']}"}`];
  if (body !== undefined) options.push(`json=${pythonLiteral(body)}`);
  return `# pip install httpx
import json
import os

import httpx

response = httpx.${method.toLowerCase()}(
    "${address}",
    ${options.join(',\n    ')},
    timeout=30,
)
answer = response.json()
if response.is_error:
    raise RuntimeError(f"{answer['type']}: {answer['detail']}")
print(json.dumps(answer, indent=2, ensure_ascii=False))`;
}

/** JSON as Python writes it: `None`, `True` and `False` are its own words. */
function pythonLiteral(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${pythonLiteral(member)}`,
  );
  return `{${members.join(', ')}}`;
}
