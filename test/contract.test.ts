/** The lists and tables of the documents have exactly what the code has, and the versions agree. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import manifest from '../package.json';
import { type ApiRoute, BASE_PATH, templateOf } from '../src/http/api-route.ts';
import { createOpenApi } from '../src/http/openapi.ts';
import { TOOLS } from '../src/mcp/tools.ts';
import { SETTINGS } from '../src/platform/config/config.ts';
import { API_ROUTES } from '../src/service/endpoints.ts';
import { ROOT } from './support/command.ts';
import { variablesOfConfig } from './support/config-variables.ts';

test('the programs and documents that a customer reads have the key in API_KEY', async () => {
  const read = /(?:\$\{?|\benv\.|environ\[["']|getenv\(["']|env-var )((?:[A-Z]+_)*KEY)\b/g;
  const names = new Set<string>();
  const files = ['README.md', 'docs/*.md', 'examples/**/*', 'src/**/*.ts'].map(
    (pattern) => new Glob(pattern),
  );
  for (const path of files.flatMap((glob) => [...glob.scanSync(ROOT)])) {
    const text = await Bun.file(join(ROOT, path)).text();
    for (const [, name] of text.matchAll(read)) names.add(name!);
  }
  expect([...names].filter((name) => name !== 'NIF_PT_KEY')).toEqual(['API_KEY']);
});

/** `GET /companies?q=`, as the documents call an endpoint. */
function endpointOf({ path, query, body }: ApiRoute): string {
  const parameters = Object.keys(query?.properties ?? {}).map((name) => `?${name}=`);
  return `${body === undefined ? 'GET' : 'POST'} ${templateOf(path)}${parameters.join('')}`;
}

test('README.md and docs/api.md have each endpoint in the order of the reference, and say which are free', async () => {
  const expected = API_ROUTES.map((route) => [endpointOf(route), route.charge === null]);
  const readme = await Bun.file(join(ROOT, 'README.md')).text();
  const rows = [...readme.matchAll(/^\| `((?:GET|POST) [^`]+)` +\|.*\| (\S.*?) +\|$/gm)];
  expect(rows.map(([, endpoint, credits]) => [endpoint, credits === '0'])).toEqual(expected);
  const api = await Bun.file(join(ROOT, 'docs/api.md')).text();
  const headings = [...api.matchAll(/^## .+: `((?:GET|POST) [^`]+)`, (.+)$/gm)];
  expect(headings.map(([, endpoint, credits]) => [endpoint, credits === 'free'])).toEqual(expected);
});

test('docs/mcp.md has each tool in the order of the list, with its endpoint', async () => {
  const tools = [...TOOLS.values()];
  const mcp = await Bun.file(join(ROOT, 'docs/mcp.md')).text();
  const rows = [...mcp.matchAll(/^\| `([a-z_]+)` +\|.*\| `([^`]+)` +\|$/gm)];
  expect(rows.map(([, name, endpoint]) => [name, endpoint])).toEqual(
    tools.map(({ name, route }) => [name, endpointOf(route)]),
  );
});

test('docs/configuration.md names every variable that the configuration reads, and marks those that a file can hold', async () => {
  const text = await Bun.file(join(ROOT, 'docs/configuration.md')).text();
  const settings = Object.values(SETTINGS);
  const ofBun = [...text.matchAll(/^- `(\w+)`/gm)].map(([, name]) => name!);
  const { names, secrets } = variablesOfConfig();
  expect([...settings.map(({ name }) => name), ...ofBun].toSorted()).toEqual(names);
  const marked = settings.filter(({ isSecret }) => isSecret).map(({ name }) => name);
  expect(marked.toSorted()).toEqual(secrets);
});

test('the newest release of CHANGELOG.md is the version of package.json, and the reference has the version of the path', async () => {
  const [, newest] = /^## (\d\S*) (?!– unreleased)/m.exec(await Bun.file(join(ROOT, 'CHANGELOG.md')).text())!;
  expect(newest).toBe(manifest.version);
  expect(BASE_PATH).toBe(`/api/v${createOpenApi('https://example.test', [], new Map()).info.version}`);
});
