import { NoAnswerError } from '../runtime/timeout.ts';
import { SECOND } from '../units.ts';
import { type Canary, startCanary } from './canary.ts';
import { connectPostgres, type PostgresOptions, type Sql } from './connect.ts';

const ASK_EVERY_MS = 0.25 * SECOND;
/** A server without an answer to the smallest question for this long is gone, or of no use. */
const SILENCE_MS = 0.75 * SECOND;
/** A live server has reported a statement's timeout by this time after it. */
const GRACE_MS = 3 * SECOND;

type Server = { pid: number; isStandby: boolean };

export type Pools = ReturnType<typeof createPools>;

/**
 * The pools of a server process, for a Postgres whose host may vanish without closing its connections. postgres.js
 * would send statements on such connections for a quarter of an hour, until the kernel gives up.
 *
 * One more connection, the canary, is asked a question four times a second. When it falls silent, and when it has connected again,
 * every pool is replaced by a new one. So recovery takes the same time with any number of open connections.
 * A canary on a standby connects again until it finds the primary: a balancer may have led the pools to a server that was demoted.
 *
 * @param onSilent called when the canary falls silent
 */
export function createPools(url: string, onSilent: () => void = () => {}) {
  const replacements: (() => void)[] = [];
  const open = new Set<Sql>();
  /** The canary's process in Postgres, which changes at a silent reconnection. */
  let backend: number | 'new' | 'lost' = 'new';
  let canary: Canary | null = null;

  const connectCanary = () =>
    connectPostgres(url, { max: 1, applicationName: 'company-directory canary' }, { max_lifetime: null });
  const start = () =>
    startCanary(connectCanary, {
      ask: (sql) => sql<Server[]>`SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS "isStandby"`,
      everyMs: ASK_EVERY_MS,
      timeoutMs: SILENCE_MS,
      onAnswer([row]) {
        const before = backend;
        const { pid, isStandby } = row!;
        backend = isStandby ? 'lost' : pid;
        if (isStandby) canary!.replace();
        // Connections may have been lost together with the canary's.
        else if (before !== 'new' && before !== backend) replaceAll();
      },
      onFailure(error) {
        const before = backend;
        backend = 'lost';
        if (typeof before !== 'number' || !(error instanceof NoAnswerError)) return;
        onSilent();
        replaceAll();
      },
    });

  function replaceAll(): void {
    for (const replace of replacements) replace();
  }

  function connect(options: PostgresOptions): Sql {
    const pool = connectPostgres(url, options);
    open.add(pool);
    return pool;
  }

  return {
    /** Opens a pool, which connects at the first query. One without a statement timeout is not replaced. */
    open(options: PostgresOptions = {}): Sql {
      // Never replaced, because it makes the connections of `listen`.
      const first = connect(options);
      const { statementTimeoutMs = 0 } = options;
      if (statementTimeoutMs === 0) return first;
      canary ??= start();
      void canary.run();
      let pool = connect(options);
      replacements.push(() => {
        const replaced = pool;
        pool = connect(options);
        open.delete(replaced);
        // Idle connections close at once, so that a server that was only slow does not hold two sets of them. Statements in
        // flight may still be answered.
        void replaced.end({ timeout: (statementTimeoutMs + GRACE_MS) / SECOND });
      });
      return new Proxy(first, {
        apply: (_, __, args) => Reflect.apply(pool, undefined, args),
        get: (_, key) => Reflect.get(key === 'listen' ? first : pool, key),
      });
    },
    async close(how: { timeout: number }): Promise<void> {
      await Promise.all([canary?.stop(), ...[...open].map((pool) => pool.end(how))]);
    },
  };
}
