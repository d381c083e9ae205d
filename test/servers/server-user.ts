import { systemUsers } from '../../src/platform/config/environment.ts';
import { mayInstall } from './may-install.ts';
import { run, type ServerUser } from './processes.ts';

const USER_NAME = 'directory-tests';
const COMMAND_TIMEOUT_MS = 10_000;

/**
 * Elasticsearch and Postgres refuse to run as root. As root this returns a system user that owns nothing else (made on
 * first use if that is allowed, else `nobody`); otherwise undefined: the servers run as whoever runs the tests.
 */
export async function serverUser(): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (!lookUp(USER_NAME) && mayInstall()) await addUser();
  const user = lookUp(USER_NAME) ?? lookUp('nobody');
  if (!user)
    throw new Error(
      `as root the test servers need a user to run as: there is neither ${USER_NAME} nor nobody`,
    );
  return user;
}

async function addUser(): Promise<void> {
  const args = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', USER_NAME];
  // It fails when another run has just made the user, or the system has no useradd.
  await run({ command: 'useradd', args }, COMMAND_TIMEOUT_MS).catch(() => undefined);
}

const lookUp = (name: string) => systemUsers().find((user) => user.name === name);
