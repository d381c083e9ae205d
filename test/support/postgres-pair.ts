/** A Postgres primary and a standby of a test's own, to kill one of them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { startOnFreePort } from '../servers/ports.ts';
import { acceptsQueries, reachableBinaries, startPostgres } from '../servers/postgres.ts';
import { run, startProcess } from '../servers/processes.ts';
import { createOwnContext } from './secure-servers.ts';
import { until } from './until.ts';

/** Commits on the primary wait for the standby, so that a failover loses nothing. */
export async function startPostgresPair() {
  const { context, stop } = await createOwnContext();
  const primaryUrl = await startPostgres(context, { maxConnections: 100, purpose: 'tests' });
  const primary = new URL(primaryUrl);
  const data = join(context.runFolder, 'postgres');
  const copy = join(context.runFolder, 'standby');
  const postmaster = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);

  const sql = postgres(primaryUrl, { max: 1, onnotice: () => {} });
  await sql`SELECT pg_backup_start('standby', true)`;
  const asOwner = (command: string, ...args: string[]) =>
    run({ command, args, cwd: context.runFolder, user: context.user }, 60_000);
  await asOwner('cp', '-a', data, copy);
  const [backup] = await sql<{ labelfile: string }[]>`SELECT labelfile FROM pg_backup_stop(false)`;
  await asOwner('rm', '-f', join(copy, 'postmaster.pid'));
  await asOwner('touch', join(copy, 'backup_label'), join(copy, 'standby.signal'));
  writeFileSync(join(copy, 'backup_label'), backup!.labelfile);
  const connection = `host=127.0.0.1 port=${primary.port} user=postgres password=${primary.password} application_name=b`;
  writeFileSync(join(copy, 'postgresql.auto.conf'), `primary_conninfo = '${connection}'\n`);

  const binaries = await reachableBinaries(context);
  const standby = new URL(primaryUrl);
  const port = await startOnFreePort('the standby', (port) => {
    const server = startProcess({
      command: join(binaries, 'postgres'),
      args: ['-D', copy, '-p', String(port)].concat(
        [
          'listen_addresses=127.0.0.1',
          'unix_socket_directories=',
          'max_connections=100',
          'fsync=off',
        ].flatMap((setting) => ['-c', setting]),
      ),
      cwd: context.runFolder,
      env: { LC_ALL: 'C.UTF-8', TZ: 'UTC' },
      user: context.user,
    });
    context.own(server, 'SIGQUIT');
    standby.port = String(port);
    return { server, isReady: () => acceptsQueries(standby.href) };
  });
  await sql`ALTER SYSTEM SET synchronous_standby_names = 'b'`;
  await sql`SELECT pg_reload_conf()`;
  await until('replication', async () => {
    const [row] = await sql`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
    return row !== undefined;
  });
  await sql.end({ timeout: 1 });

  return {
    /** Both hosts in one address, the primary first. */
    url: primaryUrl.replace(`:${primary.port}`, `:${primary.port},127.0.0.1:${port}`),
    /** The standby alone. */
    standbyUrl: standby.href,
    /** As a machine that loses its power: no goodbye. */
    killPrimary: () => process.kill(-postmaster, 'SIGKILL'),
    async promote(): Promise<void> {
      const sql = postgres(standby.href, { max: 1, onnotice: () => {} });
      await sql`SELECT pg_promote(true, 30)`;
      await sql.end({ timeout: 1 });
    },
    stop,
  };
}
