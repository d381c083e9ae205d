import { figuresOf, runLoad, type Schedule } from './load.ts';
import { cpuSeconds, type StoreProcesses, storeProcesses } from './processes.ts';
import type { Service, Stack } from './stack.ts';

/** The service's work after its last answer (log lines, refunds) ends within this time. */
const SETTLE_MS = 500;

export const PROCESSES = ['service', 'postgres', 'elasticsearch', 'redis'] as const;

/** A load on one process of the service. */
export interface Measured extends ReturnType<typeof figuresOf> {
  /** CPU for each right answer. */
  cpuMs: Record<'service' | keyof StoreProcesses, number>;
}

/** Runs a load. @param right the status of a right answer */
export async function measureLoad(
  { servers, sql }: Stack,
  service: Service,
  schedule: Pick<Schedule, 'requests' | 'connections' | 'seconds'>,
  right?: number,
): Promise<Measured> {
  const cpuMs = async () => {
    // Read each time: Postgres starts a process for each connection, and a pool may open some during the run.
    const pids = { service: [service.pid], ...(await storeProcesses(servers, sql)) };
    return PROCESSES.map((name) => cpuSeconds(pids[name]) * 1000);
  };
  const before = await cpuMs();
  const figures = figuresOf(await runLoad({ ...service, ...schedule }), right);
  await Bun.sleep(SETTLE_MS);
  const after = await cpuMs();
  const spent = PROCESSES.map((name, at) => [name, (after[at]! - before[at]!) / figures.answers]);
  return { ...figures, cpuMs: Object.fromEntries(spent) };
}
