import { dirname, join } from 'node:path';

/**
 * The test files that show first whether a change is right: of what differs from a revision, or is new, the tests themselves, those that
 * import it, and those in the folder of the same name.
 */
export async function testsNear(root: string, revision: string): Promise<string[]> {
  const git = (...words: string[]) => Bun.$`git ${words}`.cwd(root).text();
  const listed = await Promise.all([
    git('diff', '--name-only', revision),
    git('ls-files', '--others', '--exclude-standard'),
  ]);
  const changed = new Set(listed.join('').split('\n').filter(Boolean));
  const folders = new Set([...changed].map((path) => dirname(path).replace(/^src\b/, 'test')));
  const scanner = new Bun.Transpiler({ loader: 'ts' });
  const isNear = async (test: string) => {
    if (changed.has(test) || folders.has(dirname(test))) return true;
    const imports = scanner.scanImports(await Bun.file(join(root, test)).text());
    return imports.some(({ path }) => path.startsWith('.') && changed.has(join(dirname(test), path)));
  };
  const tests = [...new Bun.Glob('test/**/*.test.ts').scanSync(root)];
  const near = await Promise.all(tests.map(isNear));
  return tests.filter((_, index) => near[index]).map((path) => `./${path}`);
}
