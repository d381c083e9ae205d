import type { Sql } from '../../src/postgres/connect.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** The service as the dashboard's tests want it: it believes what a visitor says of their address. */
export function startDashboardService(env: Record<string, string> = {}): Promise<TestService> {
  return startTestService({ env: { TRUST_PROXY: '127.0.0.1, ::1', AUTH_SECRET: 'x'.repeat(40), ...env } });
}

/** Puts companies into the stores that lookups read: fresh records, so that no source is asked. */
export async function storeCompany(sql: Sql, nif: string, title: string): Promise<void> {
  await sql`
    INSERT INTO companies (nif, title, address, zipcode, city, activity, status, cae, nature, capital,
      capital_currency, source, fetched_at)
    VALUES (${nif}, ${title}, 'Rua A', '1000-001', 'Lisboa', '', 'active', '62010', 'LDA', '5000.00', 'EUR',
      'nif.pt', now())`;
}

/** Writes earlier days' calls, as admissions on those days would have counted them. */
export async function storeCalls(
  sql: Sql,
  accountId: string,
  calls: { daysAgo: number; keyId: string; kind: 'search' | 'lookup'; calls: number }[],
): Promise<void> {
  for (const { daysAgo, keyId, kind, calls: count } of calls) {
    await sql`
      INSERT INTO daily_calls (account_id, day, key_id, kind, calls)
      VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date - ${daysAgo}::integer, ${keyId}, ${kind}, ${count})`;
  }
}
