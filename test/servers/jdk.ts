import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isReachable } from './folders.ts';
import type { ServerUser } from './processes.ts';

const OLDEST_MAJOR = 21;

/**
 * The home of a JDK of 21 or newer that `user` may run, or undefined: `JAVA_HOME`, then the `java` on the PATH, then the
 * newest of those installed beside it.
 */
export function findJdk(user: ServerUser | undefined): string | undefined {
  const preferred = [process.env.JAVA_HOME, homeOfJavaOnPath()].filter((home) => home !== undefined);
  const installed = [
    ...childrenOf('/usr/lib/jvm'),
    ...childrenOf('/usr/java'),
    ...childrenOf('/opt').filter((path) => /jdk|java/i.test(path)),
    ...childrenOf('/Library/Java/JavaVirtualMachines').map((path) => join(path, 'Contents/Home')),
    ...childrenOf(join(homedir(), '.sdkman/candidates/java')),
  ].sort((a, b) => majorVersion(b) - majorVersion(a));
  return [...preferred, ...installed].find(
    (home) => majorVersion(home) >= OLDEST_MAJOR && isReachable(join(home, 'bin'), user),
  );
}

/** Major version of the Java at `home`, from its `release` file; 0 when there is none. */
function majorVersion(home: string): number {
  const [java, release] = [join(home, 'bin/java'), join(home, 'release')];
  if (!existsSync(java) || !existsSync(release)) return 0;
  const [, major] = /^JAVA_VERSION="?(?:1\.)?(\d+)/m.exec(readFileSync(release, 'utf8')) ?? [];
  return Number(major ?? 0);
}

function homeOfJavaOnPath(): string | undefined {
  const java = Bun.which('java');
  return java ? dirname(dirname(realpathSync(java))) : undefined;
}

const childrenOf = (folder: string) =>
  existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
