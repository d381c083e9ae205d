import type { Log } from '../platform/observability/log.ts';
import type { Probe } from '../platform/observability/probe.ts';
import { withTimeout } from '../platform/runtime/timeout.ts';
import { SECOND } from '../platform/units.ts';

export type Health = ReturnType<typeof createHealth>;

const PROBE_TIMEOUT_MS = 1 * SECOND;

export type ProbeResult = { status: 'up' | 'down'; warning?: string };

/**
 * Liveness checks nothing. Readiness checks every dependency, each within a second, and is 503 while a required one is down
 * or the service is stopping. Neither shows an address or an error's text. The log has the reason, once for each time that a
 * dependency goes down.
 *
 * Both need no key. Requests that arrive during a check share its result, so that a crowd costs the dependencies one check.
 */
export function createHealth(probes: Probe[], isStopping: () => boolean, log: Pick<Log, 'info' | 'warn'>) {
  const down = new Set<string>();

  async function probe(dependency: Probe): Promise<[name: string, result: ProbeResult]> {
    const { name } = dependency;
    let status: ProbeResult['status'] = 'up';
    try {
      await withTimeout((bound) => dependency.check(bound), PROBE_TIMEOUT_MS, name);
      if (down.delete(name)) log.info({ dependency: name }, 'a dependency is up again');
    } catch (error) {
      status = 'down';
      if (!down.has(name)) log.warn({ dependency: name, err: error }, 'a dependency is down');
      down.add(name);
    }
    const warning = dependency.warning?.();
    return [name, warning === undefined ? { status } : { status, warning }];
  }

  let round: Promise<Record<string, ProbeResult>> | null = null;

  function results(): Promise<Record<string, ProbeResult>> {
    round ??= Promise.all(probes.map(probe))
      .then(Object.fromEntries<ProbeResult>)
      .finally(() => {
        round = null;
      });
    return round;
  }

  async function ready(): Promise<Response> {
    const dependencies = await results();
    const down = probes.filter(({ name }) => dependencies[name]!.status === 'down');
    const answer = (status: string, code: number) => json({ status, dependencies }, code);
    if (isStopping()) return answer('stopping', 503);
    if (down.some(({ required }) => required)) return answer('unavailable', 503);
    return answer(down.length > 0 ? 'degraded' : 'ready', 200);
  }

  return { live: () => json({ status: 'live' }, 200), ready, results };
}

function json(body: unknown, status: number): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
  });
}
