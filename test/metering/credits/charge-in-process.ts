/**
 * `bun charge-in-process.ts DATABASE_URL ACCOUNT`: spends three credits, as an instance of the service would, and prints `voided`
 * when their batch is voided.
 */
import { writeSync } from 'node:fs';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { connectPostgres } from '../../../src/platform/postgres/connect.ts';

const [url, accountId] = process.argv.slice(2) as [string, string];
const sql = connectPostgres(url, { max: 10, pointQueries: true });
const credits = createCredits(sql, { onEvent: (event) => event === 'voided' && writeSync(1, 'voided\n') });
await sql`SELECT 1`;
await credits.charge({ accountId, keyId: '', kind: 'lookup', credits: 3 }).catch(() => {});
