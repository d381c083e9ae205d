import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import postgres from 'postgres';
import type { Sql } from '../../../src/platform/postgres/connect.ts';
import { createTestDatabase } from '../../support/database.ts';

/**
 * The faults that patches/postgres@3.4.9.patch mends. The sockets are real, but the test decides when they fail and close: in
 * the turn in which a query was put off to the next turn, which otherwise takes luck.
 */

let sql: Sql;
let socket: Socket;
/** A socket that should write this closes instead. */
let closeAt: string | undefined;

const database = await createTestDatabase('lost_connection');
beforeEach(async () => {
  const { hostname, port } = new URL(database.url);
  const open = async () => {
    socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const { write } = socket;
    const opened = socket;
    socket.write = ((bytes: Buffer) => {
      if (closeAt === undefined || !bytes.includes(closeAt)) return write.call(opened, bytes);
      opened.destroy();
      return true;
    }) as typeof write;
    return socket;
  };
  // `socket` is an option that the types don't have.
  const options = { max: 1, connect_timeout: 10, backoff: () => 0.05, socket: open };
  sql = postgres(database.url, options as postgres.Options<Record<string, postgres.PostgresType>>) as Sql;
  await sql`SELECT 1`;
});
afterEach(() => sql.end({ timeout: 0 }));
afterAll(() => database.drop());

/** `SELECT 1`, put off to the next turn, which has not begun yet. */
async function askInThisTurn(): Promise<{ outcome: Promise<string> }> {
  const query = sql`SELECT 1`.execute();
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  return { outcome: outcomeOf(query) };
}

/** Without the patch some of these queries never settle, and their test runs into its timeout. */
const outcomeOf = async (query: PromiseLike<unknown>) =>
  query.then(
    () => 'answered',
    (error: { code?: string }) => String(error.code),
  );

test('a connection that is lost while it asks for the array types fails its query, and no promise that nobody has', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  closeAt = 'pg_type';
  socket.destroy();
  await once(socket, 'close');
  expect(await outcomeOf(sql`SELECT 1`)).toBe('CONNECTION_CLOSED');
  await Bun.sleep(0);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
  closeAt = undefined;
  expect(await outcomeOf(sql`SELECT 1`)).toBe('answered');
});

test('a connection that closes while a query waits to be written is used again', async () => {
  const { outcome } = await askInThisTurn();
  const closed = socket;
  closed.emit('close', false);
  closed.destroy();
  expect(await outcome).toBe('CONNECTION_CLOSED');
  expect(await outcomeOf(sql`SELECT 1`)).toBe('answered');
});

test('a query that comes between the error and the close of its connection fails', async () => {
  socket.emit('error', new Error('reset'));
  const { outcome } = await askInThisTurn();
  const closed = socket;
  closed.emit('close', true);
  closed.destroy();
  expect(await outcome).toBe('CONNECTION_CLOSED');
  expect(await outcomeOf(sql`SELECT 1`)).toBe('answered');
});
