/**
 * A process that spends credits, as an instance of the service would.
 *
 *   bun admit-in-process.ts DATABASE_URL ACCOUNT COUNT   waits for a line on stdin, admits COUNT calls at once, prints the outcomes
 *   bun admit-in-process.ts DATABASE_URL ACCOUNT COUNT stay   the same, then stays and prints `voided` once its batch is voided
 *   bun admit-in-process.ts DATABASE_URL ACCOUNT forever   admits ten calls at a time, prints a line for each admitted one
 */
import { writeSync } from 'node:fs';
import { createCredits } from '../../src/credits/admit.ts';
import { connectPostgres } from '../../src/postgres/connect.ts';
import { admit, admitMany } from './ledger.ts';

const [url, accountId, count, stay] = process.argv.slice(2) as [string, string, string, string?];
const sql = connectPostgres(url, { max: 10, applicationName: 'admit-in-process', pointQueries: true });
const credits = createCredits(sql, { onEvent: (event) => event === 'voided' && writeSync(1, 'voided\n') });
await sql`SELECT 1`;
writeSync(1, 'ready\n');

if (count === 'forever') {
  const spendOn = async () => {
    for (;;) if ((await admit(credits, accountId)).admitted) writeSync(1, 'admitted\n');
  };
  await Promise.all(Array.from({ length: 10 }, spendOn));
} else {
  for await (const _ of process.stdin) break;
  // The clock stands still while calls are queued, so that all share a batch on a slow machine, too.
  const { now } = performance;
  const nowMs = performance.now();
  performance.now = () => nowMs;
  const outcomes = admitMany(credits, accountId, Number(count));
  performance.now = now;
  writeSync(1, `${JSON.stringify(await outcomes)}\n`);
  if (stay === undefined) {
    await sql.end({ timeout: 2 });
    process.exit(0);
  }
}
