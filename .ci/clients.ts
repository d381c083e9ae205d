/**
 * Makes typed clients of the reference of a running service, checks their types, and calls every operation with them, once with all
 * inputs and once with the required ones alone: TypeScript by openapi-typescript, Python by openapi-python-client. Then it runs every sample of the reference in every language of this machine:
 * each prints the answer that stands beside it.
 * All with the demo's test key, because the examples are of companies that do not exist.
 *
 * Exit code 77 without Python, 1 when a client can't be made or an operation fails.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import type { OpenApi, Operation } from '../src/http/openapi.ts';
import { ROOT, startDemo } from './parts.ts';

const TYPESCRIPT = [
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  'typescript@5.9.3',
  '@types/node@24.10.1',
];
const PYTHON = ['openapi-python-client==0.29.1', 'mypy==1.18.2', 'httpx==0.28.1'];
/** Problems that a client calls up, as those that know their types do. */
const LIMITS = ['key-budget-exceeded', 'key-budget-spent', 'not-permitted'];

const folder = await mkdtemp(join(tmpdir(), 'clients-'));
const demo = startDemo(folder);
try {
  process.exitCode = await check();
} finally {
  await demo.stop();
  await rm(folder, { recursive: true, force: true });
}

async function check(): Promise<number> {
  if (Bun.which('python3') === null) {
    console.log('skipped: python3 is missing');
    return 77;
  }
  const { url, key } = await demo.greeting();
  await allowMany();
  const document = (await (await fetch(`${url}/openapi/json`)).json()) as OpenApi;
  await Bun.write(join(folder, 'openapi.json'), JSON.stringify(document));
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method,
      operation,
      inputs: inputsOf(operation, document),
    })),
  );
  await checkTypeScript(url, key, calls);
  await checkPython(url, key, calls);
  await checkSamples(url, key, calls);
  return 0;
}

interface ApiCall {
  path: string;
  method: string;
  operation: Operation;
  inputs: Given[];
}

/** So many calls of each operation would be over the limit of a minute. */
async function allowMany(): Promise<void> {
  const [account] = JSON.parse(
    await run([process.execPath, 'src/main.ts', 'account', 'list', '--json'], ROOT),
  ) as {
    id: string;
  }[];
  await run(
    [process.execPath, 'src/main.ts', 'account', 'limits', account!.id, '--requests-per-minute', '10000'],
    ROOT,
  );
}

/** The examples of an operation's inputs. */
interface Given {
  path: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
}

/** All inputs of an operation, and the required ones alone. */
function inputsOf({ parameters, requestBody }: Operation, { components }: OpenApi): Given[] {
  const { schema, example } = requestBody?.content['application/json'] ?? {};
  const name = schema?.$ref?.split('/').pop();
  const members = name === undefined ? [] : components.schemas[name]!.required!;
  return [false, true].map((onlyRequired) => {
    const of = (place: string) =>
      Object.fromEntries(
        parameters
          .filter((one) => one.in === place && (one.required || !onlyRequired))
          .map((one) => [one.name, one.example]),
      );
    const body = onlyRequired && example ? pick(example as Record<string, unknown>, members) : example;
    return { path: of('path'), query: of('query'), body };
  });
}

function pick(all: Record<string, unknown>, names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

async function checkTypeScript(url: string, key: string, calls: ApiCall[]): Promise<void> {
  const home = join(folder, 'typescript');
  await Bun.write(join(home, 'package.json'), '{ "type": "module", "private": true }');
  await run(['npm', 'install', '--silent', '--no-audit', '--no-fund', ...TYPESCRIPT], home);
  await run(['npx', 'openapi-typescript', join(folder, 'openapi.json'), '--output', 'api.ts'], home);
  const lines = calls.flatMap(({ path, method, operation, inputs }) =>
    inputs.map(({ body, ...given }) => {
      const params = Object.fromEntries(Object.entries(given).filter(([, of]) => Object.keys(of).length > 0));
      const options = JSON.stringify({ params, body });
      return `show('${operation.operationId}', await client.${method.toUpperCase()}('${path}', ${options}));`;
    }),
  );
  await Bun.write(
    join(home, 'calls.ts'),
    `import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const client = createClient<paths>({
  baseUrl: '${url}/api/v1',
  headers: { Authorization: \`Bearer \${process.env.API_KEY}\` },
});
function show(operation: string, { data, error }: { data?: unknown; error?: unknown }): void {
  if (data === undefined) throw new Error(\`\${operation}: \${JSON.stringify(error)}\`);
}
${lines.join('\n')}

// A problem has its type, too.
for (const kind of ${JSON.stringify(LIMITS)}) {
  const { error } = await client.GET('/companies', { params: { query: { q: kind } } });
  if (error === undefined || !error.type.endsWith(kind)) throw new Error(\`\${kind}: \${JSON.stringify(error)}\`);
}

// An item is narrowed by its status.
export const debtsOf = (item: components['schemas']['ScreenedItem']) => (item.status === 200 ? item.debts : item.problem.detail);
export const companyOf = (item: components['schemas']['LookupItem']) => (item.status === 200 ? item.company : item.problem.detail);
export const candidatesOf = (item: components['schemas']['ResolvedName']) => (item.status === 200 ? item.candidates : item.problem.detail);
`,
  );
  const strict = [
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--skipLibCheck',
    '--types',
    'node',
  ];
  await run(['npx', 'tsc', ...strict, 'calls.ts'], home);
  await run([process.execPath, 'calls.js'], home, { API_KEY: key });
  console.log(`TypeScript: ${calls.length} operations, ${lines.length} calls`);
}

async function checkPython(url: string, key: string, calls: ApiCall[]): Promise<void> {
  const home = join(folder, 'python');
  await run(['python3', '-m', 'venv', 'venv'], folder);
  const bin = (name: string) => join(folder, 'venv/bin', name);
  await run([bin('pip'), 'install', '--quiet', '--disable-pip-version-check', ...PYTHON], folder);
  const generate = [
    'generate',
    '--path',
    'openapi.json',
    '--output-path',
    home,
    '--meta',
    'none',
    '--fail-on-warning',
  ];
  await run([bin('openapi-python-client'), ...generate], folder, { PATH: `${bin('')}:${process.env.PATH}` });
  const lines = calls.flatMap(({ operation, inputs }) => {
    const name = operation.operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const schema = operation.requestBody?.content['application/json'].schema.$ref?.split('/').pop();
    const shown = inputs.map(({ path, query, body }) => {
      const values = Object.entries({ ...path, ...query });
      const given = values.map(([parameter, value]) => `${parameter}=${JSON.stringify(value)}`);
      if (body !== undefined)
        given.push(`body=models.${schema}.from_dict(json.loads(${JSON.stringify(JSON.stringify(body))}))`);
      return `show("${name}", ${name}.sync_detailed(${['client=client', ...given].join(', ')}))`;
    });
    return [`from python.api.${operation.tags[0]} import ${name}`, ...shown];
  });
  await Bun.write(
    join(folder, 'calls.py'),
    `import json
import os
from typing import Any

from python import AuthenticatedClient, models
from python.types import Response

client = AuthenticatedClient(base_url="${url}/api/v1", token=os.environ["API_KEY"])


def show(operation: str, response: Response[Any]) -> None:
    if response.status_code != 200 or response.parsed is None:
        raise RuntimeError(f"{operation}: {response.status_code} {response.content!r}")


${lines.join('\n')}
for kind in ${JSON.stringify(LIMITS)}:
    problem = search_companies.sync(client=client, q=kind)
    if not isinstance(problem, models.Problem) or not problem.type_.endswith(kind):
        raise RuntimeError(f"{kind}: {problem!r}")
`,
  );
  // The generator's own client.py does not pass.
  await Bun.write(join(folder, 'mypy.ini'), '[mypy]\n[mypy-python.client]\nignore_errors = True\n');
  await run([bin('mypy'), '--no-incremental', 'calls.py', 'python'], folder);
  await run([bin('python'), 'calls.py'], folder, { API_KEY: key });
  console.log(`Python: ${calls.length} operations, ${calls.flatMap(({ inputs }) => inputs).length} calls`);
}

async function checkSamples(url: string, key: string, calls: ApiCall[]): Promise<void> {
  const page = parseHTML(await (await fetch(`${url}/openapi`)).text()).document;
  const languages: [name: string, program: string | null, command: (text: string) => string[]][] = [
    ['curl', Bun.which('curl'), (text) => ['sh', '-c', text]],
    ['javascript', Bun.which('node'), (text) => ['node', '--input-type=module', '--eval', text]],
    ['python', join(folder, 'venv/bin/python'), (text) => [join(folder, 'venv/bin/python'), '-c', text]],
  ];
  for (const [language, program, command] of languages) {
    if (program === null) {
      console.log(`samples in ${language}: not run, because it is not on this machine`);
      continue;
    }
    for (const { operation } of calls) {
      const sample = page.querySelector(`#sample-${operation.operationId}-${language}`)?.textContent;
      if (sample === undefined || sample === null)
        throw new Error(`no sample of ${operation.operationId} in ${language}`);
      const answer = JSON.parse(await run(command(sample), folder, { API_KEY: key }));
      const { example } = operation.responses[200]!.content['application/json']!;
      // The answers about usage and key are those of the account.
      const isOwn = ['getUsage', 'getKey'].includes(operation.operationId);
      if (!isOwn && !Bun.deepEquals(answer, example))
        throw new Error(`${operation.operationId} in ${language}: ${JSON.stringify(answer)}`);
    }
    console.log(`samples in ${language}: ${calls.length}`);
  }
}

/** @throws Error with all that it has printed when it fails */
async function run(words: string[], cwd: string, more: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(words, {
    cwd,
    env: { ...demo.environment, ...more },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${words.slice(0, 3).join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}
