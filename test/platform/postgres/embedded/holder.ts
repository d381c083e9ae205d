/**
 * One process that uses the embedded Postgres under the directory given: prints the address, then obeys the lines
 * on its standard input: `close` leaves and ends, `exit` ends without leaving.
 */
import { openEmbeddedPostgres } from '../../../../src/platform/postgres/embedded/embedded.ts';

const dataDir = process.argv[2];
if (dataDir === undefined) throw new Error('usage: embedded-holder.ts DATA_DIR');
const embedded = await openEmbeddedPostgres(dataDir, { onLog: (line) => console.error(line) });
console.log(embedded.url);
for await (const line of console) {
  if (line === 'exit') process.exit(0);
  if (line === 'close') break;
}
await embedded.close();
process.exit(0);
