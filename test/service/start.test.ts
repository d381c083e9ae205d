/** Starts that are refused, each in one line. */
import { afterAll, expect, test } from 'bun:test';
import { runCommand } from '../support/command.ts';
import { createTestEnvironment } from '../support/service.ts';

const environment = await createTestEnvironment();
// Fails if a process has left a connection to the database open.
afterAll(() => environment.remove());

const start = (env: Record<string, string>, ...words: string[]) =>
  runCommand({ ...environment.env, ...env }, 'serve', ...words);

const HERE = { hostname: '127.0.0.1', port: 0 };

test.each([
  ['another program', () => Bun.listen({ ...HERE, socket: { data() {} } })],
  // A server of Bun with this option lets others share its port.
  ['another service', () => Bun.serve({ ...HERE, reusePort: true, fetch: () => new Response() })],
])('on a port that %s has the service does not start, exit 1', async (_, take) => {
  const listener = take();
  const { port } = listener;
  const { code, stderr } = await start({ PORT: String(port) });
  listener.stop(true);
  const taken = `127.0.0.1:${port}`;
  expect([code, stderr]).toEqual([
    1,
    `error: can't listen on ${taken}: something listens there already: stop it, or set another PORT (or HOST)\n`,
  ]);
});

test.each(['0', '3000'])(
  'with a HOST of another machine and PORT=%s it does not start, exit 1',
  async (PORT) => {
    const { code, stderr } = await start({ HOST: '192.0.2.1', PORT });
    expect([code, stderr]).toEqual([
      1,
      `error: can't listen on 192.0.2.1:${PORT}: HOST is no address of this machine\n`,
    ]);
  },
);
