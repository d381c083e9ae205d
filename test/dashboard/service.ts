import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import type { CallKind } from '../../src/http/call-kind.ts';
import { ERROR_KINDS, type ErrorKind } from '../../src/http/error-kind.ts';
import type { Sql } from '../../src/platform/postgres/connect.ts';
import { createCommandLine } from '../support/command.ts';
import { storeCallCounts, storeErrorCounts } from '../support/counts.ts';
import { createFolder } from '../support/folder.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The service as the dashboard's tests want it: sign-up is open, and `X-Forwarded-For` is believed. */
export const OPEN = { TRUST_PROXY: '127.0.0.1, ::1', AUTH_SECRET: 'x'.repeat(40), SIGN_UP: 'open' };

export const startDashboardService = (env: Record<string, string> = {}): Promise<TestService> =>
  startTestService({ env: { ...OPEN, ...env } });

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

/**
 * Writes the calls of days, as charges and error answers on those days would have counted them.
 * @param calls of today and of the dashboard, unless they say otherwise
 */
export async function storeCalls(
  sql: Sql,
  accountId: string,
  calls: { daysAgo?: number; keyId?: string; kind: CallKind | ErrorKind; calls: number }[],
): Promise<void> {
  for (const { daysAgo = 0, keyId = '', kind, calls: count } of calls) {
    const store = ERROR_KINDS.some((error) => error === kind) ? storeErrorCounts : storeCallCounts;
    const day = sql`(now() AT TIME ZONE 'UTC')::date - ${daysAgo}::integer`;
    await store(sql, sql`VALUES (${accountId}, ${day}, ${keyId}, ${kind}, ${count})`);
  }
}

/** Imports a CSV of companies as an operator does. */
export async function importCompanies(service: TestService, text: string): Promise<void> {
  const file = join(createFolder('companies'), 'companies.csv');
  await Bun.write(file, text);
  await createCommandLine(service.databaseUrl).json('companies', 'import', file);
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>;

/** A real SMTP server on a free port that keeps what it is given. */
export async function startMailServer() {
  /** `text`: headers and body, decoded. */
  const mails: { from: string; to: string[]; text: string }[] = [];
  let open = 0;
  let most = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    closeTimeout: 1,
    onConnect(_session, done) {
      most = Math.max(most, ++open);
      done();
    },
    onClose() {
      open -= 1;
    },
    async onData(stream, { envelope }, done) {
      const text = (await new Response(stream).text()).replaceAll('\r\n', '\n');
      const to = envelope.rcptTo.map(({ address }) => address);
      mails.push({
        from: envelope.mailFrom ? envelope.mailFrom.address : '',
        to,
        text: decodeQuotedPrintable(text),
      });
      done();
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as { port: number };
  return {
    url: `smtp://127.0.0.1:${port}`,
    /** The next mail to an address that has not been asked for yet. @throws when none comes */
    async mailTo(address: string) {
      const find = () => mails.findIndex((mail) => mail.to.includes(address));
      await until(`a mail to ${address}`, () => find() !== -1);
      return mails.splice(find(), 1)[0]!;
    },
    /** Mails to an address that came and have not been asked for. */
    received: (address: string) => mails.filter((mail) => mail.to.includes(address)).length,
    /** The most connections that were open at once. */
    mostConnections: () => most,
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

function decodeQuotedPrintable(text: string): string {
  if (!/^content-transfer-encoding: quoted-printable/im.test(text)) return text;
  const bytes = text
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
