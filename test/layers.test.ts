import { expect, test } from 'bun:test';
import { dirname, join } from 'node:path';

const SRC = join(import.meta.dir, '../src');

// The dashboard's folders. A room has the pages of one feature, with their SQL and figures.
const BELOW_PAGES = ['ui', 'request', 'auth'];
const ROOMS = [
  'mails',
  'reference',
  'usage',
  'keys',
  'activity',
  'connections',
  'account-data',
  'account',
  'sign-in',
  'try',
  'screen',
];

/** The imports between files of `src`, as pairs of paths below it. */
async function imports(): Promise<[from: string, to: string][]> {
  const found: [string, string][] = [];
  for await (const path of new Bun.Glob('**/*.ts').scan(SRC)) {
    const text = await Bun.file(join(SRC, path)).text();
    // It names the types of all that a page works with, and has no code.
    if (path === 'dashboard/context.ts') continue;
    for (const [, to] of text.matchAll(/(?:from |import\()'(\.[^']+)'/g)) {
      found.push([path, join(dirname(path), to!)]);
    }
  }
  return found;
}

test('a folder of the dashboard imports only from those to its left', async () => {
  const layers = [...BELOW_PAGES, ...ROOMS];
  const layerOf = (path: string) => {
    if (!path.startsWith('dashboard/')) return null;
    // Texts are of the lowest layer, in whichever room they are shown.
    if (/\/([\w-]*texts|messages|context)\.ts$/.test(path)) return 'ui';
    return path.split('/')[1]!;
  };
  const ranked = (await imports())
    .map(([from, to]) => ({ from, to, layer: layerOf(from), below: layerOf(to) }))
    .filter(({ layer, below }) => layer !== null && below !== null && layers.includes(layer));
  expect(new Set(ranked.map(({ layer }) => layer))).toEqual(new Set(layers));
  // A file beside the folders is above all of them.
  const rank = (layer: string) => (layers.includes(layer) ? layers.indexOf(layer) : layers.length);
  const upwards = ranked.filter(({ layer, below }) => rank(below!) > rank(layer!));
  expect(upwards.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
});

test('the contexts of the dashboard are types alone', async () => {
  const text = await Bun.file(join(SRC, 'dashboard/context.ts')).text();
  expect(text.match(/^(import|export) (?!type |interface )/gm)).toBeNull();
});

test('nothing loads better-auth before the first page: no file imports a value of auth.ts', async () => {
  const loading: string[] = [];
  for await (const path of new Bun.Glob('dashboard/**/*.ts').scan(SRC)) {
    const text = await Bun.file(join(SRC, path)).text();
    if (/^import (?!type\b)[^;]*'(\.\/|\.\/auth\/|\.\.\/auth\/)auth\.ts';/m.test(text)) loading.push(path);
  }
  expect(loading).toEqual([]);
});

test('directory/indexing is a layer: it imports nothing of the directory', async () => {
  const isIndexing = (path: string) => path.startsWith('companies/directory/indexing/');
  const found = (await imports()).filter(([from]) => isIndexing(from));
  expect(found.some(([, to]) => isIndexing(to))).toBe(true);
  const upwards = found.filter(([, to]) => to.startsWith('companies/directory/') && !isIndexing(to));
  expect(upwards.map(([from, to]) => `${from} → ${to}`)).toEqual([]);
});

const WINGS = 'platform http metering companies mcp dashboard backup service demo main.ts'.split(' ');

const wingOf = (path: string) => path.split('/')[0]!;

const isUpwards = (from: string, to: string) => WINGS.indexOf(to) > WINGS.indexOf(from);

test('a wing imports only from those below it', async () => {
  const found = (await imports()).filter(([, to]) => !to.startsWith('..'));
  expect(new Set(found.map(([from]) => wingOf(from)))).toEqual(new Set(WINGS));
  const upwards = found.filter(([from, to]) => isUpwards(wingOf(from), wingOf(to)));
  expect(upwards.map(([from, to]) => `${from} → ${to}`)).toEqual([]);
});

/** Who belongs to an account, and in which role: a view of the dashboard that wings below it read. */
const READ_UPWARDS = ['account_members'];

/** Code without comments, so that a name in it is one that Postgres gets. */
const withoutComments = (text: string) => text.replace(/\/\*.*?\*\/|(?<!:)\/\/.*?$|-- .*?$/gms, '');

/** Whether code names a table. A word that is also an English one counts behind a keyword of SQL. */
function isNamed(name: string, code: string): boolean {
  const before = name.includes('_')
    ? ''
    : "(FROM|JOIN|INTO|UPDATE|TABLE|ON|REFERENCES|COPY) (ONLY )?|sql\\('";
  return new RegExp(`(?<![\\w.])(${before})${name}(?!\\w)`).test(code);
}

test('a wing names only its own tables and those of the wings below it', async () => {
  const wingOfName = new Map<string, string>();
  const sources: [path: string, wing: string, code: string][] = [];
  for await (const path of new Bun.Glob('**/*.sql').scan(SRC)) {
    const wing = wingOf(path);
    const code = withoutComments(await Bun.file(join(SRC, path)).text());
    sources.push([path, wing, code]);
    for (const [, name] of code.matchAll(/^CREATE (?:TABLE|VIEW|FUNCTION|TYPE|SEQUENCE) (\w+)/gm))
      wingOfName.set(name!, wing);
  }
  for await (const path of new Bun.Glob('**/*.ts').scan(SRC)) {
    sources.push([path, wingOf(path), withoutComments(await Bun.file(join(SRC, path)).text())]);
  }
  const named = sources.flatMap(([path, wing, code]) =>
    [...wingOfName]
      .filter(([name]) => isNamed(name, code))
      .map(([name, owner]) => ({ path, wing, name, owner })),
  );
  const upwards = named.filter(({ wing, owner }) => isUpwards(wing, owner));
  const unexpected = upwards.filter(({ name }) => !READ_UPWARDS.includes(name));
  expect(unexpected.map(({ path, name }) => `${path} → ${name}`)).toEqual([]);
  expect(new Set(upwards.map(({ name }) => name))).toEqual(new Set(READ_UPWARDS));
});

test.each([
  // The dashboard's folders have their own order, above.
  [
    'folders of a wing',
    (path: string) =>
      dirname(path)
        .split('/')
        .slice(0, path.startsWith('dashboard/') ? 1 : 2)
        .join('/'),
  ],
  ['files', (path: string) => path],
])('no %s import each other in a circle', async (_, unitOf) => {
  const below = new Map<string, Set<string>>();
  for (const [from, to] of await imports()) {
    const [unit, other] = [unitOf(from), unitOf(to)];
    if (unit !== other) below.set(unit, (below.get(unit) ?? new Set()).add(other));
  }
  // A unit goes once all that it imports are gone. Those of a circle stay.
  for (let size = -1; size !== below.size; ) {
    size = below.size;
    for (const [unit, imported] of below)
      if (![...imported].some((each) => below.has(each))) below.delete(unit);
  }
  expect([...below.keys()]).toEqual([]);
});
