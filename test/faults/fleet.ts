import { type Service, startProcess } from '../../bench/lib/stack.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';

/** One process of an instance, from its start to its end. */
export interface InstanceRun {
  service: Service;
  /**
   * Credits of 503 answers that may stay charged if the process ends now. A later priced answer clears them: the service charges
   * nothing while the outcome of an earlier charge is unknown.
   */
  doubtful: { accountId: string; credits: number; answeredAtMs: number }[];
}

/** An instance of the service, with its own proxies before each store. */
export interface Instance {
  name: string;
  proxies: Record<StoreName, TcpProxy>;
  /** `null` while it is down. */
  run: InstanceRun | null;
  start(): Promise<void>;
}

export type StoreName = 'postgres' | 'redis';

export interface Fleet {
  instances: Instance[];
  /** Names of instances that ended without a fault that ends them. */
  crashes: string[];
  stop(): Promise<void>;
}

/** Starts instances of the service behind proxies. */
export async function startFleet(
  count: number,
  environment: Record<string, string>,
  isExpected: (instance: Instance) => boolean,
): Promise<Fleet> {
  const fleet: Fleet = {
    instances: [],
    crashes: [],
    async stop() {
      await Promise.all(fleet.instances.map(({ run }) => run?.service.stop('SIGKILL')));
      for (const { proxies } of fleet.instances)
        await Promise.all([proxies.postgres.close(), proxies.redis.close()]);
    },
  };
  for (let number = 0; number < count; number += 1) {
    const proxies = {
      postgres: await startProxy(environment.DATABASE_URL!),
      redis: await startProxy(environment.REDIS_URL!),
    };
    const instance: Instance = {
      name: `i${number}`,
      proxies,
      run: null,
      async start() {
        const service = await startProcess(['src/main.ts', 'serve'], {
          ...environment,
          DATABASE_URL: proxies.postgres.url(environment.DATABASE_URL!),
          REDIS_URL: proxies.redis.url(environment.REDIS_URL!),
        });
        const run: InstanceRun = { service, doubtful: [] };
        instance.run = run;
        void service.exited.then(() => {
          if (instance.run === run && !isExpected(instance)) {
            instance.run = null;
            fleet.crashes.push(instance.name);
          }
        });
      },
    };
    fleet.instances.push(instance);
    await instance.start();
  }
  return fleet;
}
