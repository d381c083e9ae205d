import type { CallKind } from '../../src/http/call-kind.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { storeCallCounts } from '../support/counts.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { startMailServer } from './smtp.ts';

/** The service as the dashboard's tests want it: sign-up is open, and `X-Forwarded-For` is believed. */
export function startDashboardService(env: Record<string, string> = {}): Promise<TestService> {
  return startTestService({
    env: { TRUST_PROXY: '127.0.0.1, ::1', AUTH_SECRET: 'x'.repeat(40), SIGN_UP: 'open', ...env },
  });
}

/** The same with a mail server that it sends to. */
export async function startMailedDashboard(env: Record<string, string> = {}) {
  const mail = await startMailServer();
  const service = await startDashboardService({ SMTP_URL: mail.url, ...env });
  const stop = async () => {
    await service.stop();
    await mail.stop();
  };
  return { mail, service, stop };
}

/** The credits that an account has used in its period. */
export async function usedBy({ sql }: { sql: Sql }, accountId: string): Promise<number> {
  const [balance] = await sql<{ used: number }[]>`SELECT used FROM balances WHERE account_id = ${accountId}`;
  return balance!.used;
}

/** Writes earlier days' calls, as charges on those days would have counted them. */
export async function storeCalls(
  sql: Sql,
  accountId: string,
  calls: { daysAgo: number; keyId: string; kind: CallKind; calls: number }[],
): Promise<void> {
  for (const { daysAgo, keyId, kind, calls: count } of calls) {
    await storeCallCounts(
      sql,
      sql`VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date - ${daysAgo}::integer, ${keyId}, ${kind}, ${count})`,
    );
  }
}
