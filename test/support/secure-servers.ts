/** Servers that speak TLS, with certificates of the test's own. */
import { chownSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTo } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { createContext, type NativeContext } from '../servers/native.ts';
import { acceptsQueries, startPostgres } from '../servers/postgres.ts';
import { haveKeeper } from '../servers/shared.ts';
import type { Certificate } from './certificates.ts';
import { until } from './until.ts';

/** Starts a Postgres that takes connections by TLS alone, from the binaries that the embedded one has. */
export async function startSecurePostgres(certificate: Certificate) {
  const { context, stop } = await createOwnContext();
  const files = writeCertificate(context, certificate);
  const settings = { ssl: 'on', ssl_cert_file: files.cert, ssl_key_file: files.key };
  const url = await startPostgres(context, { maxConnections: 50, purpose: 'tests' }, settings);
  const port = Number(new URL(url).port);
  const data = join(context.runFolder, 'postgres');
  const postmaster = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const access = join(data, 'pg_hba.conf');
  writeFileSync(access, readFileSync(access, 'utf8').replace(/^host\b/gm, 'hostssl'));
  process.kill(postmaster, 'SIGHUP');
  await until('TLS alone', async () => !(await acceptsQueries(url)));
  return {
    /** On 127.0.0.1, without `sslmode`. */
    url,
    /** Serves with another certificate; resolves when new connections see it. */
    async use(next: Certificate): Promise<void> {
      writeCertificate(context, next);
      process.kill(postmaster, 'SIGHUP');
      await until('the certificate', async () => (await certificateAt(port)) === next.cert);
    },
    stop,
  };
}

/** A TLS server of this process that passes everything on to a server that speaks none. */
export async function startTlsProxy(certificate: Certificate, target: string) {
  const { hostname, port } = new URL(target);
  const server = createTlsServer(certificate, (socket) => {
    const upstream = connectTo(Number(port), hostname);
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return { port: (server.address() as { port: number }).port, close: () => void server.close() };
}

/** A run folder for servers of a test's own; `stop` ends them and removes it, and so does the keeper if the test is killed. */
export async function createOwnContext() {
  await haveKeeper();
  return createContext(() => {});
}

function writeCertificate({ runFolder, user }: NativeContext, certificate: Certificate) {
  const files = { cert: join(runFolder, 'server.crt'), key: join(runFolder, 'server.key') };
  writeFileSync(files.cert, certificate.cert);
  writeFileSync(files.key, certificate.key, { mode: 0o600 });
  if (user) for (const file of [files.cert, files.key]) chownSync(file, user.uid, user.gid);
  return files;
}

/** The certificate that Postgres shows, as PEM. */
function certificateAt(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, ALPNProtocols: ['postgresql'], rejectUnauthorized: false };
    const socket = connectTls(options, () => {
      resolve(socket.getPeerX509Certificate()?.toString() ?? null);
      socket.destroy();
    });
    socket.on('error', () => resolve(null));
  });
}
