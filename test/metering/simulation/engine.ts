/**
 * Postgres as far as the ledger sees it, READ COMMITTED. A statement has a snapshot. It waits for a row that another transaction has
 * locked, and then rereads that row alone. A key is unique, also against an insert that is not committed. A wait ends after the timeout
 * of the pool. Deadlocks are those of the SQL, so race.ts finds them in a real one.
 */
import { type Random, world } from './world.ts';

export class PostgresError extends Error {
  constructor(
    readonly code: string,
    message = code,
    readonly severity = 'ERROR',
  ) {
    super(message);
  }
}

/** What the client library throws when a connection is lost. */
export const connectionClosed = () =>
  Object.assign(new Error('write CONNECTION_CLOSED'), { code: 'CONNECTION_CLOSED' });

interface Row {
  name: string;
  /** Committed versions, the latest last; `null` means that there is no row. */
  versions: { seq: number; value: object | null }[];
  holder: Transaction | null;
  waiting: Set<(error?: Error) => void>;
}

/** A part of a statement: it yields whenever other statements may run. */
export type Steps<T> = Generator<Row | 'pause', T, unknown>;

/** A table by its name, with the type of its rows. */
export interface Table<Value extends object> {
  name: string;
  /** Never set: the type of the values. */
  value?: Value;
}
export const table = <Value extends object>(name: string): Table<Value> => ({ name });

export class Transaction {
  /** Microseconds since 1970: `now()`. */
  readonly now: number;
  readonly held = new Set<Row>();
  readonly writes = new Map<Row, object | null>();
  seq: number;
  end: ((error: Error) => void) | null = null;

  constructor(
    readonly engine: Engine,
    readonly name: string,
  ) {
    this.now = engine.clock();
    this.seq = engine.seq;
  }

  /** A new snapshot, as each statement of a transaction or of a volatile function has one. */
  snapshot(): void {
    this.seq = this.engine.seq;
  }

  /** The row in the snapshot. */
  read<V extends object>(of: Table<V>, key: string): V | null {
    const row = this.engine.row(of, key);
    return (this.writes.has(row) ? this.writes.get(row)! : versionAt(row, this.seq)) as V | null;
  }

  /** The rows in the snapshot, in the order of their keys. */
  scan<V extends object>(of: Table<V>): [string, V][] {
    const found: [string, V][] = [];
    for (const key of this.engine.keys(of)) {
      const value = this.read(of, key);
      if (value !== null) found.push([key, value]);
    }
    return found.sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** Locks the row, and reads its latest version. */
  *lock<V extends object>(of: Table<V>, key: string): Steps<V | null> {
    const row = this.engine.row(of, key);
    yield 'pause';
    while (row.holder !== null && row.holder !== this) yield row;
    this.hold(row);
    return this.latest(row) as V | null;
  }

  /** `FOR UPDATE SKIP LOCKED`: whether the row was free. */
  tryLock(of: Table<object>, key: string): boolean {
    const row = this.engine.row(of, key);
    if (row.holder !== null && row.holder !== this) return false;
    this.hold(row);
    return true;
  }

  /** The latest version of a row that this transaction has locked. */
  current<V extends object>(of: Table<V>, key: string): V | null {
    return this.latest(this.engine.row(of, key)) as V | null;
  }

  /**
   * `UPDATE … WHERE`: the condition is asked of the snapshot, and again of the latest version under its lock.
   * @returns the old and the new version; `undefined` means that none was updated
   */
  *update<V extends object>(
    of: Table<V>,
    key: string,
    where: (row: V) => boolean,
    set: (row: V) => V,
  ): Steps<{ old: V; new: V } | undefined> {
    const seen = this.read(of, key);
    if (seen === null || !where(seen)) return undefined;
    const old = yield* this.lock(of, key);
    if (old === null || !where(old)) return undefined;
    const updated = set(old);
    this.write(of, key, updated);
    return { old, new: updated };
  }

  /** @returns the row that is there already; `null` means that it was inserted */
  *insert<V extends object>(of: Table<V>, key: string, value: V): Steps<V | null> {
    const found = yield* this.lock(of, key);
    if (found === null) this.write(of, key, value);
    return found;
  }

  /** An insert that must not find the key. */
  *insertNew<V extends object>(of: Table<V>, key: string, value: V): Steps<void> {
    if ((yield* this.insert(of, key, value)) !== null)
      throw new PostgresError('23505', `duplicate key in ${of.name}`);
  }

  /** Writes a row that this transaction has locked. */
  write<V extends object>(of: Table<V>, key: string, value: V | null): void {
    const row = this.engine.row(of, key);
    if (row.holder !== this) throw new Error(`${this.name} writes ${row.name} without its lock`);
    this.writes.set(row, value);
  }

  private hold(row: Row): void {
    row.holder = this;
    this.held.add(row);
  }

  private latest(row: Row): object | null {
    return this.writes.has(row) ? this.writes.get(row)! : (row.versions.at(-1)?.value ?? null);
  }
}

const versionAt = ({ versions }: Row, seq: number): object | null =>
  versions.findLast((version) => version.seq <= seq)?.value ?? null;

export class Engine {
  seq = 0;
  private readonly tables = new Map<string, Map<string, Row>>();
  private readonly active = new Set<Transaction>();

  /** @param isSerial whether each statement runs in one instant */
  constructor(
    private readonly random: Random,
    private readonly isSerial: boolean,
    private readonly check: (table: string, value: object) => void,
  ) {}

  /** Microseconds since 1970: `clock_timestamp()`. */
  clock = (): number => Math.round(world.unixMs * 1000);

  row({ name }: Table<object>, key: string): Row {
    const rows = this.tables.get(name) ?? new Map<string, Row>();
    this.tables.set(name, rows);
    const row: Row = rows.get(key) ?? {
      name: `${name} ${key}`,
      versions: [],
      holder: null,
      waiting: new Set(),
    };
    rows.set(key, row);
    return row;
  }

  keys({ name }: Table<object>): string[] {
    return [...(this.tables.get(name)?.keys() ?? [])];
  }

  /** A row from before the history. */
  put<V extends object>(of: Table<V>, key: string, value: V): void {
    this.row(of, key).versions.push({ seq: this.seq, value });
  }

  /** What is committed now. */
  all<V extends object>(of: Table<V>): [string, V][] {
    return new Transaction(this, 'a reader').scan(of);
  }

  /** Runs a transaction; `done` gets its result once it is committed or rolled back. */
  run<T>(
    name: string,
    lockTimeoutMs: number,
    statement: (tx: Transaction) => Steps<T>,
    done: (error: Error | null, result?: T) => void,
  ): void {
    const tx = new Transaction(this, name);
    const steps = statement(tx);
    this.active.add(tx);
    const end = (error: Error | null, result?: T): void => {
      if (!this.active.delete(tx)) return;
      if (error === null) this.commit(tx);
      this.release(tx);
      done(error, result);
    };
    tx.end = end;
    const resume = (error?: Error): void => {
      if (!this.active.has(tx)) return;
      try {
        for (let given = error; ; given = undefined) {
          const { done: isDone, value } = given === undefined ? steps.next() : steps.throw(given);
          if (!isDone && value === 'pause' && (this.isSerial || this.random.chance(0.7))) continue;
          if (isDone) end(null, value as T);
          else if (value === 'pause') world.after(this.random.below(4), resume, null);
          else this.wait(value as Row, lockTimeoutMs, resume);
          return;
        }
      } catch (failure) {
        end(failure as Error);
      }
    };
    resume();
  }

  private wait(row: Row, timeoutMs: number, resume: (error?: Error) => void): void {
    const wake = (error?: Error): void => {
      if (row.waiting.delete(wake)) resume(error);
    };
    row.waiting.add(wake);
    if (timeoutMs > 0) world.after(timeoutMs, () => wake(new PostgresError('55P03', 'lock timeout')), null);
  }

  private commit(tx: Transaction): void {
    if (tx.writes.size === 0) return;
    for (const [row, value] of tx.writes) if (value !== null) this.check(row.name, value);
    this.seq += 1;
    for (const [row, value] of tx.writes) {
      if (this.active.size === 0) row.versions.length = 0;
      row.versions.push({ seq: this.seq, value });
    }
  }

  private release(tx: Transaction): void {
    for (const row of tx.held) row.holder = null;
    for (const row of tx.held) for (const wake of row.waiting) world.after(0, wake, null);
  }

  /** Ends every transaction that runs, as a restart does. */
  restart(): void {
    for (const tx of [...this.active]) tx.end?.(new PostgresError('57P01', 'terminating', 'FATAL'));
  }
}
