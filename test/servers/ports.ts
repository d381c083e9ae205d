import { holdPort } from '../../src/service/listen.ts';
import type { ServerProcess } from './processes.ts';

const PROBE_INTERVAL_MS = 50;
export const READY_TIMEOUT_MS = 5 * 60_000;
const MAX_ATTEMPTS = 3;

/** A port of 127.0.0.1 that is free now. */
export function freePort(): number {
  const { port, release } = holdPort('127.0.0.1', 0);
  release();
  return port;
}

type Candidate = { server: ServerProcess; isReady(): Promise<boolean> };

/**
 * Starts a server on a free port and waits until it answers; somebody may take the port in between, then the server
 * ends at once and another port is tried.
 * @returns the port.
 */
export async function startOnFreePort(name: string, start: (port: number) => Candidate): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = freePort();
    const { server, isReady } = start(port);
    if (await untilReady(server, isReady)) return port;
    const outOfPatience = attempt === MAX_ATTEMPTS || !/address already in use/i.test(server.lastLines());
    if (outOfPatience) throw new Error(`${name} did not start\n${server.lastLines()}`);
  }
}

/** True once `isReady`; false when the process has ended before, or after five minutes, which a busy machine may take. */
export async function untilReady(server: ServerProcess, isReady: () => Promise<boolean>): Promise<boolean> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!server.hasExited() && Date.now() < deadline) {
    // Asked again after the answer: on a port taken by somebody else the answer would be theirs.
    if ((await isReady()) && !server.hasExited()) return true;
    await Bun.sleep(PROBE_INTERVAL_MS);
  }
  return false;
}
