import { basename, dirname, extname, join } from 'node:path';

/** The time of the tests near a change, by their durations in a whole run: about 6 s of several processes on two cores. */
const NEAR_MS = 12_000;
/** That of a file without a duration yet. */
const USUAL_MS = 2000;
const ELASTICSEARCH = 'test/support/elasticsearch.ts';

/** Test files, as paths from the top of the repository. */
export interface NearTests {
  run: string[];
  /** Further ones near the change. */
  leftOut: string[];
}

/**
 * The test files that show first whether a change is right: those that differ from a revision or are new, then those that import what
 * differs, or name it if it is no code, and those in the folder of the same name, the quickest first, as many as fit into
 * {@link NEAR_MS}. Those that want an Elasticsearch, which starts for 20 s, are among them only if one runs.
 * @param durations of the files, in milliseconds
 */
export async function testsNear(
  root: string,
  revision: string,
  durations: Record<string, number>,
): Promise<NearTests> {
  const git = (...words: string[]) => Bun.$`git ${words}`.cwd(root).text();
  // What the revision has since is not of this branch.
  const base = (await git('merge-base', revision, 'HEAD')).trim();
  const listed = await Promise.all([
    git('diff', '--name-only', base),
    git('ls-files', '--others', '--exclude-standard'),
  ]);
  const changed = new Set(listed.join('').split('\n').filter(Boolean));
  const folders = new Set([...changed].map((path) => dirname(path).replace(/^src\b/, 'test')));
  const read = [...changed]
    .filter((path) => !path.endsWith('.ts'))
    .map((path) => (extname(path) === '' ? path : basename(path)));
  const scanner = new Bun.Transpiler({ loader: 'ts' });
  const textOf = (file: string) => Bun.file(join(root, file)).text();
  const known = new Map<string, Promise<string[]>>();
  const importsOf = (file: string) =>
    known.getOrInsertComputed(file, async () => {
      const paths = scanner.scanImports(await textOf(file)).map(({ path }) => path);
      return paths.filter((path) => path.startsWith('.')).map((path) => join(dirname(file), path));
    });
  async function isNear(test: string): Promise<boolean> {
    if (folders.has(dirname(test)) || (await importsOf(test)).some((path) => changed.has(path))) return true;
    const text = read.length > 0 ? await textOf(test) : '';
    return read.some((name) => text.includes(name));
  }
  async function wantsElasticsearch(file: string, seen = new Set<string>()): Promise<boolean> {
    if (file === ELASTICSEARCH) return true;
    if (seen.has(file) || !/^test\/.*\.ts$/.test(file)) return false;
    seen.add(file);
    for (const other of await importsOf(file)) if (await wantsElasticsearch(other, seen)) return true;
    return false;
  }

  const near: NearTests = { run: [], leftOut: [] };
  const further: string[] = [];
  const runsElasticsearch = Boolean(process.env.TEST_ELASTICSEARCH_URL || process.env.ELASTICSEARCH_URL);
  for (const test of new Bun.Glob('test/**/*.test.ts').scanSync(root)) {
    if (changed.has(test)) near.run.push(test);
    else if (await isNear(test)) {
      const fits = runsElasticsearch || !(await wantsElasticsearch(test));
      (fits ? further : near.leftOut).push(test);
    }
  }
  const durationOf = (test: string) => durations[test] ?? USUAL_MS;
  let sumMs = near.run.reduce((sum, test) => sum + durationOf(test), 0);
  for (const test of further.toSorted((a, b) => durationOf(a) - durationOf(b))) {
    sumMs += durationOf(test);
    (sumMs <= NEAR_MS ? near.run : near.leftOut).push(test);
  }
  return near;
}
