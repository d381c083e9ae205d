/** A connection of a process to the store: every statement of the ledger goes through it, and fails as one to Postgres can. */
import { isLockTimeout, type Sql } from '../../../src/platform/postgres/connect.ts';
import { connectionClosed, type Engine, PostgresError } from './engine.ts';
import { runStatement } from './ledger.ts';
import type { Statement } from './seam.ts';
import { type Process, type Random, world } from './world.ts';

/** Runs statements: the model, or a real Postgres. `done` gets the result once it is committed or rolled back. */
export type Execute = (
  name: string,
  args: unknown[],
  run: Parameters<Statement>[2],
  done: (error: Error | null, result?: unknown) => void,
) => void;

const LOCK_TIMEOUT_MS = 300;

export const inModel =
  (engine: Engine): Execute =>
  (name, args, _run, done) => {
    if (name === 'settleBudgets') settleBudgets(engine, done);
    else engine.run(name, LOCK_TIMEOUT_MS, (tx) => runStatement(tx, name, args), done);
  };

/** Runs statements in a real Postgres, while the world stands still. */
export const inPostgres =
  (sql: Sql): Execute =>
  (_name, _args, run, done) =>
    world.waitFor(() => run(sql).then((result) => done(null, result), done));

/** A transaction for each budget that is due. One whose account is locked waits for the next time. */
function settleBudgets(engine: Engine, done: (error: Error | null) => void): void {
  const run = (name: string, of: unknown[], then: (error: Error | null, result?: unknown) => void) =>
    engine.run(name, LOCK_TIMEOUT_MS, (tx) => runStatement(tx, name, of), then);
  const settle = ([id, ...rest]: string[]): void => {
    if (id === undefined) done(null);
    else
      run('settleBudget', [id], (error) =>
        error === null || isLockTimeout(error) ? settle(rest) : done(error),
      );
  };
  run('dueBudgets', [], (error, ids) => (error === null ? settle(ids as string[]) : done(error)));
}

export interface Faults {
  /** The share of statements that fail. */
  rate: number;
  /** Until then no connection can be opened. */
  downUntilMs: number;
  /** Those that happened. */
  count: number;
}

const ERRORS = [
  () => new PostgresError('57014', 'canceling statement due to statement timeout'),
  () => new PostgresError('40P01', 'deadlock detected'),
  () => new PostgresError('53200', 'out of memory'),
];

export interface StoreParts {
  execute: Execute;
  random: Random;
  faults: Faults;
  /** What happened, for the trace of a run. */
  note(line: string): void;
  listeners: Set<{ process: Process; changed(accountId: string): void }>;
}

/** The `sql` of a process. */
export function connect(process: Process, { execute, random, faults, note, listeners }: StoreParts) {
  const refuse = () => {
    throw new Error('a statement without a name: see seam.ts');
  };

  const statement: Statement = (name, args, run) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    let isCancelled = false;
    const query = {
      /** As postgres.js: `null` as long as the query waits for a connection. */
      state: {} as object | null,
      cancel: () => {
        isCancelled = true;
      },
      // biome-ignore lint/suspicious/noThenProperty: a query of postgres.js is sent by its first `then`
      then: (ok?: (value: unknown) => unknown, fail?: (error: unknown) => unknown) => {
        send();
        return promise.then(ok, fail);
      },
      catch: (fail: (error: unknown) => unknown) => query.then(undefined, fail),
      finally: (run: () => void) => query.then().finally(run),
    };
    let isSent = false;
    return query;

    /** Gives the client its answer after a while. */
    function answer(error: Error | null, result?: unknown, afterMs = random.below(3)): void {
      world.after(
        afterMs,
        () => {
          note(`${name} ${error === null ? 'answers' : `fails: ${error.message}`}`);
          if (error === null) resolve(result);
          else reject(error);
        },
        process,
      );
    }

    function silence(): void {
      answer(connectionClosed(), undefined, 3000 + random.below(5000));
    }

    function effect(afterMs: number, done: (error: Error | null, result?: unknown) => void): void {
      const go = () => {
        note(`${name} runs`);
        execute(name, args, run, done);
      };
      world.after(afterMs, go, null);
    }

    function send(): void {
      if (isSent || !process.isAlive) return;
      isSent = true;
      const delayMs = random.chance(0.6) ? random.below(3) : random.below(25);
      note(`${name} is sent`);
      if (world.nowMs < faults.downUntilMs) answer(connectionClosed(), undefined, delayMs);
      else if (random.chance(faults.rate)) fail(random.below(8), delayMs);
      else effect(delayMs, answer);
    }

    function fail(kind: number, delayMs: number): void {
      faults.count += 1;
      note(`${name} has fault ${kind}`);
      if (kind === 0) answer(random.one(ERRORS)(), undefined, delayMs);
      // Silence, before and after the effect. Seconds later the pool is replaced (src/platform/postgres/pools.ts).
      else if (kind === 1) silence();
      else if (kind === 2) effect(delayMs, silence);
      // A lost connection, after and before the effect, and while it is still to come.
      else if (kind === 3) effect(delayMs, () => answer(connectionClosed()));
      else if (kind === 4) answer(connectionClosed(), undefined, delayMs);
      else if (kind === 5) {
        answer(connectionClosed(), undefined, delayMs);
        effect(random.below(3000), () => {});
      } else if (kind === 6) effect(1000 + random.below(6000), answer);
      else waitForConnection(random.below(4000));
    }

    /** The client may take the query back meanwhile. */
    function waitForConnection(forMs: number): void {
      query.state = null;
      const send = () => {
        query.state = {};
        if (!isCancelled) effect(1, answer);
      };
      world.after(forMs, send, null);
    }
  };

  return Object.assign(refuse, {
    statement,
    listen: async (_channel: string, changed: (accountId: string) => void, listening: () => void) => {
      listeners.add({ process, changed });
      listening();
      return { unlisten: async () => {} };
    },
  });
}
