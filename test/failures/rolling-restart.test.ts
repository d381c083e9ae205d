import { afterAll, expect, test } from 'bun:test';
import { freePort } from '../servers/ports.ts';
import { startApi } from '../support/api.ts';
import { csv } from '../support/companies.ts';
import '../support/modes.ts';
import type { ServiceProcess } from '../support/service.ts';
import { until } from '../support/until.ts';

const POLL_MS = 250;
/** A balancer on a busy machine must have looked by then. */
const DELAY_S = 2;

const api = await startApi({ mode: 'full', directory: csv(1, 3) });
afterAll(() => api.stop());

/** A balancer that looks at readiness four times a second, repeats nothing, and sends requests to ready instances in turn. */
function startBalancer(urls: string[], key: string) {
  const ready = new Set<string>();
  const statuses: (number | string)[] = [];
  let isOver = false;
  const look = async (url: string) => {
    while (!isOver) {
      const isReady = await fetch(`${url}/health/ready`).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (isReady) ready.add(url);
      else ready.delete(url);
      await Bun.sleep(POLL_MS);
    }
  };
  const send = async () => {
    for (let sent = 0; !isOver; sent += 1) {
      const targets = [...ready];
      const url = targets[sent % targets.length];
      if (url === undefined) statuses.push('no instance is ready');
      else {
        const answer = await fetch(`${url}/api/v1/companies?q=empresa${sent}`, {
          headers: { Authorization: `Bearer ${key}` },
        }).catch((error: Error) => error);
        if (answer instanceof Response) await answer.arrayBuffer();
        statuses.push(answer instanceof Response ? answer.status : answer.message);
      }
      await Bun.sleep(10);
    }
  };
  const looks = urls.map(look);
  let sends: Promise<void>[] = [];
  return {
    statuses,
    isReady: (url: string) => ready.has(url),
    begin: () => {
      sends = [send(), send()];
    },
    async end() {
      isOver = true;
      await Promise.all([...looks, ...sends]);
    },
  };
}

test('SHUTDOWN_DELAY_S: a rolling restart behind a balancer that only polls readiness fails no request', async () => {
  const { key, accountId } = await api.caller({
    limits: { requestsPerMinute: 1_000_000 },
    included: 1_000_000,
  });
  const ports = [await freePort(), await freePort()];
  const start = (port: number) =>
    api.spawnInstance({ PORT: String(port), SHUTDOWN_DELAY_S: String(DELAY_S) });
  const instances: ServiceProcess[] = await Promise.all(ports.map(start));
  const urls = instances.map(({ baseUrl }) => baseUrl);
  const balancer = startBalancer(urls, key);
  await until('readiness', () => urls.every(balancer.isReady));
  balancer.begin();
  for (const [index, instance] of instances.entries()) {
    const leaving = instance.kill('SIGTERM');
    await until('the poll that sees it', () => !balancer.isReady(urls[index]!));
    expect(await leaving).toBe(0);
    instances[index] = await start(ports[index]!);
    await until('readiness', () => balancer.isReady(urls[index]!));
    const sent = balancer.statuses.length;
    await until('requests to both', () => balancer.statuses.length > sent + 10);
  }
  await balancer.end();
  expect(balancer.statuses.filter((status) => status !== 200)).toEqual([]);
  expect((await api.ledger({ accountId })).used).toBe(balancer.statuses.length);
});
