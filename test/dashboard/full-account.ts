import { invite } from '../../src/dashboard/account/invitations.ts';
import { changePlan } from '../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../src/metering/accounts/grant.ts';
import { createKey, revokeKey } from '../../src/metering/keys/key-store.ts';
import { rotateKey } from '../../src/metering/keys/rotate.ts';
import type { TestService } from '../support/service.ts';
import { importPages, importProblems } from '../support/whole.ts';
import { storeCalls } from './service.ts';
import { acceptAs } from './visitor.ts';

export const LONG = 'n'.repeat(200);
const WORDS = 'serviço de faturação da empresa '.repeat(6).trim();

/** An account with everything that can be long. @returns the id of a key */
export async function fillAccount(service: TestService, accountId: string): Promise<string> {
  const { sql } = service;
  await changePlan(sql, accountId, 'plus', { until: new Date('2099-01-31T10:00:00Z') }, 'test');
  const inTwoDays = new Date(Date.now() + 2 * 86_400_000);
  const ids: string[] = [];
  for (let index = 0; index < 9; index += 1) {
    const name = [LONG, WORDS, 'produção'][index % 3]!;
    const { id } = await createKey(sql, accountId, name, 'test', index < 6 ? inTwoDays : null);
    ids.push(id);
    if (index < 3) await rotateKey(sql, id, 86_400, 'test');
    await storeCalls(sql, accountId, [{ daysAgo: index, keyId: id, kind: 'search', calls: 1_234_567 }]);
  }
  await revokeKey(sql, ids[8]!, 'test');
  await sql`UPDATE api_keys SET expires_at = now() - interval '1 hour' WHERE id = ANY (${ids.slice(3, 6)})`;
  await storeCalls(sql, accountId, [{ keyId: ids[0]!, kind: '4xx', calls: 1_234_567 }]);
  for (const note of [LONG, WORDS]) {
    const grant = { credits: 4_147_483_647, note, reference: `FT 2026 ${note.slice(0, 60)}` };
    await grantCredits(sql, accountId, grant, 'test');
    await sql`UPDATE balances SET credits = credits - 187 WHERE account_id = ${accountId}`;
  }
  // Of 24 characters: the longest word that a column does not break.
  const short = { accountId, email: `rui.${accountId.slice(4, 10)}@escritorio.pt` };
  await acceptAs(service.baseUrl, (await invite(sql, short, 'test')).token, 'Rui');
  const email = `${'m'.repeat(60)}@${accountId.slice(4)}${'x'.repeat(40)}.example.com`;
  const { token } = await invite(sql, { accountId, email }, 'test');
  await acceptAs(service.baseUrl, token, LONG);
  const pending = { accountId, email: `contabilidade.${accountId.slice(4)}@escritorio-santos.example.pt` };
  await invite(sql, pending, 'test');
  await sql`UPDATE accounts SET name = ${LONG} WHERE id = ${accountId}`;
  // All included credits are used, so that each page has its longest notice.
  await sql`UPDATE balances SET used = 5000, spend_purchased = false WHERE account_id = ${accountId}`;
  return ids[0]!;
}

const [{ ROUTES }, { PROBLEMS }] = await Promise.all([importPages(), importProblems()]);

/** The pages of visitors, of the whole service. */
export const VISITOR_PAGES = [
  ...Object.entries(ROUTES).flatMap(([path, route]) =>
    route.for === 'anyone' && route.GET !== undefined ? `/dashboard${path}` : [],
  ),
  ...['/', '/openapi', '/nothing', '/dashboard/nothing'],
  ...Object.keys(PROBLEMS).map((kind) => `/problems/${kind}`),
];

/** A page of a member that is not one of the dashboard's: it has no navigation, and wants the request of an agent. */
const CONSENT = '/connect/consent';

/** The pages of members, below the dashboard: each by its route, with the path of one of them. The member is the one with the longest address. */
export async function memberPages(
  { sql }: TestService,
  accountId: string,
  keyId: string,
): Promise<[route: string, path: string][]> {
  const [member] = await sql<{ id: string }[]>`
    SELECT "id" FROM dashboard_members JOIN dashboard_users ON "id" = user_id
    WHERE account_id = ${accountId} ORDER BY length("email") DESC LIMIT 1`;
  const routes = Object.entries(ROUTES).flatMap(([path, route]) =>
    route.for === 'member' && route.GET !== undefined && !/\.\w+$/.test(path) && path !== CONSENT ? path : [],
  );
  return routes.map((route) => [route, route.replace(':id', route.startsWith('/keys') ? keyId : member!.id)]);
}
