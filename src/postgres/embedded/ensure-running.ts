import postgres from 'postgres';
import { within } from '../../deadline.ts';
import { SECOND } from '../../units.ts';
import { readPassword } from './initialize.ts';
import type { Layout } from './layout.ts';
import { findRunning, type Postmaster } from './postmaster.ts';
import { START_TIMEOUT_MS, type StartOptions, startPostgres } from './start.ts';

const DATABASE = 'company_directory';
const POLL_MS = 10;
const RETRY_MS = 100;
/** How long a Postgres that passes for ready may not answer, or a predecessor's processes may linger. */
const PATIENCE_MS = 30 * SECOND;
const ANSWER_TIMEOUT_MS = 5 * SECOND;

/**
 * Makes sure that Postgres runs and answers, starting it if it doesn't. Call it with the mutex held.
 *
 * @throws Error with one line when it can't be brought to answer; the signal's reason when aborted.
 */
export async function ensureRunning(layout: Layout, options: StartOptions): Promise<Postmaster> {
  let patienceEnds = performance.now() + PATIENCE_MS;
  const startEnds = performance.now() + START_TIMEOUT_MS;
  let trouble = 'it ended again and again';
  for (;;) {
    options.signal?.throwIfAborted();
    const running = findRunning(layout);
    if (running === null) {
      if (await startPostgres(layout, options)) continue;
      await Bun.sleep(RETRY_MS);
    } else if (running.status === 'ready') {
      const failure = await checkAnswer(layout, running.port);
      if (failure === null) return running;
      trouble = failure;
      await Bun.sleep(RETRY_MS);
    } else {
      // Whoever started or stopped it was killed meanwhile; it finishes by itself, and recovery may take long.
      trouble = `it has been ${running.status} for too long`;
      if (running.status === 'starting') patienceEnds = Math.min(performance.now() + PATIENCE_MS, startEnds);
      await Bun.sleep(POLL_MS);
    }
    if (performance.now() > patienceEnds) {
      const who = running === null ? 'Postgres' : `Postgres (PID ${running.pid})`;
      throw new Error(`the embedded ${who} in ${layout.home} can't be used: ${trouble}; see ${layout.log}`);
    }
  }
}

/** The address of the service's database. */
export function databaseUrl(layout: Layout, port: number, database: string = DATABASE): string {
  return `postgres://postgres:${readPassword(layout)}@127.0.0.1:${port}/${database}`;
}

/** Asks a real question, making the database when it is missing. Null: all is well; else what was wrong. */
async function checkAnswer(layout: Layout, port: number): Promise<string | null> {
  const failure = await ask(databaseUrl(layout, port), 'SELECT 1');
  if (failure === null) return null;
  if (failure.code === '28P01') {
    throw new Error(
      `${layout.password} is not this Postgres's password: bring it back from a backup of DATA_DIR`,
    );
  }
  if (failure.code !== '3D000') return failure.message;
  // Killed between the first start and this: the data directory is there, its database is not.
  const created = await ask(databaseUrl(layout, port, 'postgres'), `CREATE DATABASE ${DATABASE}`);
  return created?.message ?? null;
}

async function ask(url: string, statement: string): Promise<{ code: string; message: string } | null> {
  const sql = postgres(url, {
    max: 1,
    ssl: false,
    fetch_types: false,
    connect_timeout: ANSWER_TIMEOUT_MS / SECOND,
    onnotice: () => undefined,
  });
  try {
    await within(sql.unsafe(statement), ANSWER_TIMEOUT_MS, 'it');
    return null;
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    return { code: code ?? '', message: message || code || String(error) };
  } finally {
    await sql.end({ timeout: 0 });
  }
}
