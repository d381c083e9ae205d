import { chownSync, lstatSync, mkdtempSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Layout, writePrivateFile } from './paths.ts';

/**
 * The Unix socket of the embedded Postgres: the only way in. It lies in a folder that only its owner can enter, so nobody else
 * reaches it, and a process that does needs no password. Postgres names the file by its port, and opens none.
 */
const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;
/** A socket's address has 108 bytes on Linux and 104 on macOS, the last one a zero. */
const MAX_ADDRESS_BYTES = process.platform === 'darwin' ? 103 : 107;

/** The last start, in `endpoint.json`. */
interface Endpoint {
  /** The folder that it was started in, because a copy of it must not share the socket. */
  home: string;
  socketFolder: string;
  pidNamespace: string;
}

/**
 * The folder of the socket: the data directory, or, if its path is too long for an address, a private temporary folder, which
 * `endpoint.json` names for all processes.
 *
 * @param owner the account that Postgres runs as; `null` means this process's own
 */
export function chooseSocketFolder(layout: Layout, owner: { uid: number; gid: number } | null): string {
  if (Buffer.byteLength(join(layout.cluster, SOCKET)) <= MAX_ADDRESS_BYTES) return layout.cluster;
  const uid = owner?.uid ?? process.getuid?.() ?? 0;
  const last = readEndpoint(layout);
  if (last !== null && last.home === layout.home && isPrivate(last.socketFolder, uid))
    return last.socketFolder;
  const folder = mkdtempSync(join(tmpdir(), 'company-directory-'));
  if (owner !== null) chownSync(folder, owner.uid, owner.gid);
  return folder;
}

/** Another user may have made a folder of the same name after a reboot emptied the temporary folder. */
function isPrivate(folder: string, uid: number): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === uid && (stats.mode & 0o077) === 0;
}

/** Settings of Postgres for its socket. The data directory is its working directory, which it may not reach by its path. */
export function socketSettings(layout: Layout, folder: string): Record<string, string> {
  return {
    port: String(PORT),
    listen_addresses: '',
    unix_socket_directories: folder === layout.cluster ? '.' : `"${folder}"`,
    unix_socket_permissions: '0700',
  };
}

/** An address with the socket's folder as its host, which the service, `psql` and `pg_dump` understand. */
export function socketUrl(folder: string, role: string, database: string): string {
  return `postgres://${role}@${encodeURIComponent(folder)}:${PORT}/${database}`;
}

/** The socket's file, and the one by which Postgres claims it. */
export const socketFiles = (folder: string) => [join(folder, SOCKET), join(folder, `${SOCKET}.lock`)];

/**
 * Whether a Postgres listens on the socket that `postmaster.pid` names.
 * @param pidFile its content: PID, directory, start, port, socket's folder, …
 */
export function isListening({ cluster }: Layout, pidFile: string): Promise<boolean> {
  const [, , , port, folder] = pidFile.split('\n');
  if (!port || !folder) return Promise.resolve(false);
  const { promise, resolve: settle } = Promise.withResolvers<boolean>();
  const socket = connect(resolve(cluster, folder, `.s.PGSQL.${port}`));
  socket.once('connect', () => settle(true)).once('error', () => settle(false));
  return promise.finally(() => socket.destroy());
}

export function readEndpoint(layout: Layout): Endpoint | null {
  try {
    const endpoint = JSON.parse(readFileSync(layout.endpoint, 'utf8')) as Endpoint;
    return typeof endpoint.socketFolder === 'string' ? endpoint : null;
  } catch {
    return null;
  }
}

export function writeEndpoint(layout: Layout, socketFolder: string): void {
  const endpoint: Endpoint = { home: layout.home, socketFolder, pidNamespace: pidNamespace() };
  writePrivateFile(layout, layout.endpoint, `${JSON.stringify(endpoint)}\n`);
}

/** In another container our PIDs mean other processes. */
export function requireSameNamespace(layout: Layout): void {
  const last = readEndpoint(layout);
  if (last === null || last.pidNamespace === pidNamespace()) return;
  throw new Error(
    `the embedded Postgres in ${layout.home} is used from another container or from outside this one: ` +
      'run all commands in the same place, or set DATABASE_URL',
  );
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}
