import { createServer } from 'node:net';

/**
 * Below the ports that systems hand out to outgoing connections (Linux from 32768, macOS from 49152): while Postgres
 * is down for a moment, a client that reconnects could otherwise be given that very port and connect to itself.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** A port of 127.0.0.1 that nobody listens on at this moment, in preference the one given. */
export async function chooseFreePort(preferred: number | null): Promise<number> {
  if (preferred !== null && (await isPortFree(preferred))) return preferred;
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (await isPortFree(port)) return port;
  }
  throw new Error(
    `no free port between ${FIRST_PORT} and ${LAST_PORT} on 127.0.0.1 for the embedded Postgres`,
  );
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
