import { seededRandom } from '../../bench/lib/names.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import type { KnownAccount } from './accounts.ts';
import type { Instance, InstanceRun, StoreName } from './fleet.ts';
import { count } from './load.ts';

/** `stores`: no instance ends, so that every request has its answer. `kill`: instances end and start again, too. */
export type FaultMode = 'stores' | 'kill';

export interface Injector {
  /** Number of faults by kind: `postgres hang`, `SIGKILL`. */
  faults: Map<string, number>;
  /** Instances that the injector is ending now. */
  ending: Set<Instance>;
  /** Runs of instances that the injector has ended. */
  ended: InstanceRun[];
  /** Heals all faults, injects no more, and resolves when every instance runs. */
  stop(): Promise<void>;
}

/** `hang`: the host is frozen, and new connections hang, too. `mute`: it is gone without a word, and another one answers. */
const STORE_FAULTS = ['down', 'hang', 'mute', 'delay', 'cut'] as const;
const INSTANCE_FAULTS = { stores: ['pause'], kill: ['pause', 'SIGTERM', 'SIGKILL'] } as const;
/** Longer than every timeout of the service, so that each of them fires. */
export const LONGEST_MS = { store: 5000, pause: 2500, delay: 1500 };
/** Share of faults that hit an instance, not a store. */
const SHARE_OF_INSTANCES = 0.08;
/** Share of faults that lock an account, as an operator's open transaction does. */
const SHARE_OF_LOCKS = 0.12;
/** Share of store faults that hit all instances at once, as when the store itself fails. */
const SHARE_OF_ALL = 0.15;
/** Share of faults that last up to {@link LONGEST_MS}; the others last less than half a second. */
const SHARE_OF_LONG = 0.12;

/** Injects faults until `stop`. The seed decides kind, target and duration. Each proxy and instance has one fault at a time. */
export function startFaults(
  instances: Instance[],
  options: { mode: FaultMode; perSecond: number; seed: number; sql: Sql; accounts: KnownAccount[] },
): Injector {
  const random = seededRandom(options.seed ^ 0x5eed);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
  const busy = new Set<string>();
  const running = new Set<Promise<void>>();
  const heal = Promise.withResolvers<void>();
  const injector: Injector = { faults: new Map(), ending: new Set(), ended: [], stop };

  /** Ends early when the injector heals all faults. */
  const lasting = (ms: number) => Promise.race([Bun.sleep(ms), heal.promise]);
  const duration = (longestMs: number) =>
    random() < SHARE_OF_LONG ? 500 + random() * (longestMs - 500) : 20 + random() * 480;

  async function storeFault(store: StoreName, targets: Instance[]): Promise<void> {
    const kind = pick(STORE_FAULTS);
    const ms = duration(LONGEST_MS.store);
    const delayMs = 20 + random() ** 2 * LONGEST_MS.delay;
    count(injector.faults, `${store} ${kind}`);
    for (const { proxies } of targets) {
      if (kind === 'delay') proxies[store].delay(delayMs);
      else if (kind === 'cut') proxies[store].down();
      else proxies[store][kind]();
    }
    if (kind !== 'cut') await lasting(ms);
    for (const { proxies } of targets) proxies[store].up();
  }

  async function instanceFault(instance: Instance): Promise<void> {
    const kind = pick(INSTANCE_FAULTS[options.mode]);
    const { run } = instance;
    if (run === null) return;
    count(injector.faults, kind === 'pause' ? 'SIGSTOP, SIGCONT' : kind);
    if (kind === 'pause') {
      process.kill(run.service.pid, 'SIGSTOP');
      await lasting(duration(LONGEST_MS.pause));
      process.kill(run.service.pid, 'SIGCONT');
      return;
    }
    injector.ending.add(instance);
    // A load balancer sends nothing to an instance that it stops. A kill is sudden: requests still arrive.
    if (kind === 'SIGTERM') instance.run = null;
    await run.service.stop(kind);
    instance.run = null;
    injector.ended.push(run);
    injector.ending.delete(instance);
    await startAgain(instance);
  }

  async function lockFault({ id }: KnownAccount): Promise<void> {
    const ms = duration(LONGEST_MS.store);
    await options.sql.begin(async (sql) => {
      await sql`SELECT 1 FROM accounts JOIN balances ON account_id = id WHERE id = ${id} FOR UPDATE`;
      count(injector.faults, 'account locked');
      await lasting(ms);
    });
  }

  /** An instance that starts while Postgres is away ends with an error. A supervisor starts it again. */
  async function startAgain(instance: Instance): Promise<void> {
    for (let attempt = 0; attempt < 60; attempt += 1) {
      try {
        return await instance.start();
      } catch {
        await Bun.sleep(500);
      }
    }
    throw new Error(`${instance.name} does not start again`);
  }

  function begin(targets: string[], fault: () => Promise<void>): void {
    if (targets.some((target) => busy.has(target))) return;
    for (const target of targets) busy.add(target);
    const done = fault().finally(() => {
      for (const target of targets) busy.delete(target);
      running.delete(done);
    });
    running.add(done);
  }

  const timer = setInterval(() => {
    const instance = pick(instances);
    if (random() < SHARE_OF_INSTANCES) {
      begin([instance.name], () => instanceFault(instance));
      return;
    }
    if (random() < SHARE_OF_LOCKS) {
      const account = pick(options.accounts);
      begin([account.id], () => lockFault(account));
      return;
    }
    const store = pick(['postgres', 'redis'] as const);
    const targets = random() < SHARE_OF_ALL ? instances : [instance];
    begin(
      targets.map(({ name }) => `${name} ${store}`),
      () => storeFault(store, targets),
    );
  }, 1000 / options.perSecond);

  async function stop(): Promise<void> {
    clearInterval(timer);
    heal.resolve();
    await Promise.all(running);
  }
  return injector;
}

/** Share of the rows of `plans` at which a statement of the service fails. */
const SHARE_OF_ROWS = 0.05;

/**
 * Lets statements fail as Postgres itself fails them: with an error after some of their rows. The table `plans`, which the queries for
 * keys, credits and accounts join, becomes a view whose rows raise an error now and then, for sessions of the service alone.
 * The number is a sequence's, which no rollback takes back. The function says that it is stable, so that it runs for each row of an
 * answer, behind the joins.
 */
export async function failStatements(sql: Sql): Promise<Injector> {
  await sql.unsafe(`
    CREATE SEQUENCE failed_statements;
    CREATE FUNCTION fail_now_and_then(name text) RETURNS text STABLE LANGUAGE plpgsql AS $$
    BEGIN
      IF random() < ${SHARE_OF_ROWS} AND current_setting('application_name') = 'company-directory serve' THEN
        PERFORM nextval('failed_statements');
        RAISE EXCEPTION 'failed amid the rows' USING ERRCODE = 'data_exception';
      END IF;
      RETURN name;
    END $$;
    ALTER TABLE plans RENAME TO kept_plans;
    CREATE VIEW plans AS SELECT fail_now_and_then(name) AS name, requests_per_minute, included_credits, api_keys FROM kept_plans`);
  const injector: Injector = {
    faults: new Map(),
    ending: new Set(),
    ended: [],
    async stop() {
      const [row] = await sql<{ failed: number }[]>`SELECT last_value AS failed FROM failed_statements`;
      injector.faults.set('statement failed amid its rows', row!.failed);
      await sql.unsafe('DROP VIEW plans; ALTER TABLE kept_plans RENAME TO plans');
    },
  };
  return injector;
}
