import { run, type ServerUser } from './processes.ts';

const USER_NAME = 'directory-tests';
const COMMAND_TIMEOUT_MS = 10_000;

/**
 * Elasticsearch and Postgres refuse to run as root. As root this returns a system user that owns nothing else (made on
 * first use; `nobody` where users can't be made); otherwise undefined: the servers run as whoever runs the tests.
 */
export async function serverUser(): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const existing = await lookUp(USER_NAME);
  if (existing) return existing;
  await run(
    {
      command: 'useradd',
      args: ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', USER_NAME],
    },
    COMMAND_TIMEOUT_MS,
  ).catch(() => undefined); // Another run may just have made it, or the system has no useradd.
  const user = (await lookUp(USER_NAME)) ?? (await lookUp('nobody'));
  if (!user)
    throw new Error('as root the test servers need a user to run as: useradd failed and there is no nobody');
  return user;
}

async function lookUp(name: string): Promise<ServerUser | undefined> {
  const id = (flag: string) =>
    run({ command: 'id', args: [flag, name] }, COMMAND_TIMEOUT_MS).then(Number, () => Number.NaN);
  const [uid, gid] = await Promise.all([id('-u'), id('-g')]);
  return Number.isInteger(uid) && Number.isInteger(gid) ? { name, uid, gid } : undefined;
}
