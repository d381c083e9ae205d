/** `account history`, `export` and `delete`: what is kept of an account, what of it is shown, and what goes. */
import { afterAll, describe, expect, setSystemTime, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { askEmailChange } from '../../../src/dashboard/account/email-change.ts';
import { acceptInvitation, findInvitation, invite } from '../../../src/dashboard/account/invitations.ts';
import { deleteAccount, exportAccount, removeExpired } from '../../../src/dashboard/account-data/wings.ts';
import { recordSignIn } from '../../../src/dashboard/auth/members.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { createAccount, listAccounts, requireAccount } from '../../../src/metering/accounts/account-store.ts';
import { changeLimits, setSuspended } from '../../../src/metering/accounts/changes.ts';
import { grantCredits } from '../../../src/metering/accounts/grant.ts';
import { createCredits } from '../../../src/metering/credits/charge.ts';
import { createKey, renameKey, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { createNotes, type Notes } from '../../../src/metering/notes/notes.ts';
import type { RowsQuery } from '../../../src/platform/postgres/batches.ts';
import { ROOT } from '../../support/command.ts';
import { storeErrorCounts } from '../../support/counts.ts';
import { createTestDatabase } from '../../support/database.ts';
import { waitingForLock } from '../../support/locks.ts';
import { noteProblem } from '../../support/notes.ts';
import { storeRecord } from '../../support/records.ts';

const database = await createTestDatabase('account_data');
const sql = database.sql;
afterAll(() => database.drop());

const GRANT = { credits: 100, note: 'thank you', reference: 'invoice-17' };

/** An account with everything that can be stored of one: a member, their session, a mail, an invitation, keys, calls, a refresh. */
async function createFullAccount() {
  const own = randomBytes(4).toString('hex');
  const names = { account: `Padaria ${own}`, member: `Ana ${own}`, key: `${own}’s laptop` };
  const { id } = await createAccount(sql, { name: names.account, plan: 'free' }, 'cli:rui');
  const email = `ana-${own}@example.com`;
  const { token } = await invite(sql, { accountId: id, email }, 'cli:rui');
  await acceptInvitation(sql, token, names.member, 'scrypt-of-a-password');
  const [user] = await sql<{ id: string }[]>`SELECT "id" FROM dashboard_users WHERE "email" = ${email}`;
  const userId = user!.id;
  await recordSignIn(sql, userId);
  const linkToken = await askEmailChange(sql, userId, `new-${email}`);
  const sessionToken = randomBytes(16).toString('hex');
  await sql`
    INSERT INTO dashboard_sessions ("id", "expiresAt", "token", "updatedAt", "ipAddress", "userAgent", "userId")
    VALUES (${sessionToken.slice(0, 8)}, now() + interval '1 day', ${sessionToken}, now(), '192.0.2.7', 'Firefox', ${userId})`;
  await sql`
    INSERT INTO dashboard_verifications ("id", "identifier", "value", "expiresAt")
    VALUES (${sessionToken}, 'hash-of-a-link', ${userId}, now() + interval '1 hour')`;
  await sql`INSERT INTO dashboard_sent_mails VALUES (${userId}, 'usage', '2026-03')`;
  const pending = await invite(sql, { accountId: id, email: `eva-${email}` }, 'cli:rui');
  const key = await createKey(sql, id, names.key, `dashboard:${userId}`);
  const rotated = await rotateKey(sql, key.id, 3600, `dashboard:${userId}`);
  await grantCredits(sql, id, GRANT, 'cli:rui');
  await createCredits(sql).charge({ accountId: id, keyId: key.id, kind: 'lookup', credits: 1 });
  await sql`INSERT INTO account_refreshes VALUES (${id}, '2026-03-01', 3)`;
  await storeErrorCounts(sql, sql`VALUES (${id}, '2026-03-01', ${key.id}, '4xx', 5)`);
  const secrets = [key.secret, rotated.secret, sessionToken, pending.token, token, linkToken];
  return { own, names, id, email, userId, key, pending, secrets };
}

test('the history is everything that changed the account, oldest first, with keys by id and name, without a secret', async () => {
  const { id, userId, key } = await createFullAccount();
  await renameKey(sql, key.id, 'laptop', `dashboard:${userId}`);
  await changeLimits(sql, id, { spendPurchased: false }, 'cli:rui');
  await setSuspended(sql, id, true, 'cli:rui');
  await revokeKey(sql, key.id, 'cli:rui');
  const history = await loadHistory(sql, id);
  const member = `dashboard:${userId}`;
  const named = { key: key.id, keyName: 'laptop' };
  expect(history.map(({ id: _, at: __, detail: ___, ...entry }) => entry)).toEqual([
    { kind: 'created', actor: 'cli:rui' },
    { kind: 'member-invited', actor: 'cli:rui' },
    { kind: 'member-added', actor: member },
    { kind: 'signed-in', actor: member },
    { kind: 'member-invited', actor: 'cli:rui' },
    { kind: 'key-created', actor: member, ...named },
    { kind: 'key-rotated', actor: member, ...named },
    { kind: 'credits', actor: 'cli:rui', balance: 100, ...GRANT },
    { kind: 'key-renamed', actor: member, ...named },
    { kind: 'limits', actor: 'cli:rui' },
    { kind: 'suspended', actor: 'cli:rui' },
    { kind: 'key-revoked', actor: 'cli:rui', ...named },
  ]);
  const limits = { requestsPerMinute: 20, includedCredits: 500, spendPurchased: false };
  expect(history.find(({ kind }) => kind === 'limits')!.detail).toEqual(limits);
  expect(history.every(({ at }) => at instanceof Date)).toBe(true);
  const latest = await loadHistory(sql, id, { order: 'DESC', rows: 2 });
  expect(latest).toEqual(history.slice(-2).toReversed());
  const below = await loadHistory(sql, id, { below: latest[1]!.id, order: 'DESC', rows: 1 });
  const above = await loadHistory(sql, id, { above: history[0]!.id, order: 'ASC', rows: 1 });
  expect([below, above]).toEqual([[history.at(-3)!], [history[1]!]]);
  await expect(loadHistory(sql, 'acc_none')).rejects.toThrow('there is no account "acc_none"');
});

/** The export as its reader gets it. */
async function exportOf(id: string) {
  const parts: string[] = [];
  await exportAccount(sql, id, async (part) => void parts.push(part));
  return JSON.parse(parts.join(''));
}

test('the export has the account, its members and all that is stored of them, and no secret', async () => {
  const { names, id, email, userId, key, secrets } = await createFullAccount();
  const data = await exportOf(id);
  expect(Object.keys(data)).toEqual([
    ...['exported', 'account', 'members', 'mails', 'sessions', 'links', 'emailChanges', 'attempts'],
    ...['invitations', 'keys', 'connections', 'secretUses', 'history', 'calls', 'errors'],
    ...['activity', 'refreshes'],
  ]);
  expect(data).toMatchObject({
    account: { id, name: names.account, plan: 'free', credits: 100, used: 1, spendPurchased: true },
    members: [{ id: userId, name: names.member, email, emailVerified: true }],
    sessions: [{ member: userId, ipAddress: '192.0.2.7', userAgent: 'Firefox' }],
    links: [{ member: userId }],
    emailChanges: [{ member: userId, email: `new-${email}` }],
    invitations: [
      { email, actor: 'cli:rui' },
      { email: `eva-${email}`, used: null },
    ],
    keys: [{ id: key.id, name: names.key, revoked: null }],
    calls: [{ key: key.id, kind: 'lookup', calls: 1 }],
    errors: [{ day: '2026-03-01', key: key.id, kind: '4xx', calls: 5 }],
    refreshes: [{ day: '2026-03-01', refreshes: 3, lastMinute: [] }],
  });
  expect(data.history).toHaveLength(8);
  // No hash of a password or key, and no token of a session or link.
  const text = JSON.stringify(data);
  for (const secret of secrets) expect(text).not.toContain(secret.slice(10));
  for (const hash of ['scrypt-of-a-password', 'hash-of-a-link', 'sha256', '"type":"Buffer"']) {
    expect(text).not.toContain(hash);
  }
});

test('the export of many rows comes in parts, each after the one before was taken, so that it is never whole in memory', async () => {
  const { id } = await createFullAccount();
  await sql`
    INSERT INTO account_events (account_id, kind, actor)
    SELECT ${id}, 'plan', 'cli:rui' FROM generate_series(1, 10000)`;
  let [text, longest, pending] = ['', 0, 0];
  await exportAccount(sql, id, async (part) => {
    pending += 1;
    expect(pending).toBe(1);
    await Bun.sleep(0);
    pending -= 1;
    text += part;
    longest = Math.max(longest, part.length);
  });
  expect(JSON.parse(text).history).toHaveLength(10_008);
  expect(longest).toBeLessThan(text.length / 10);
});

/** Every row, of every table, with a text that matches a pattern. */
async function rowsWith(pattern: string): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    SELECT quote_ident(table_name) AS name FROM information_schema.tables
    WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`;
  const rows = tables
    .map(({ name }) => `SELECT '${name} ' || t::text AS row FROM ${name} t`)
    .join(' UNION ALL ');
  const found = await sql.unsafe(`SELECT row FROM (${rows}) AS rows WHERE row ~ $1`, [pattern]);
  return found.map(({ row }) => row);
}

describe('a deletion', () => {
  test('removes members, sessions, invitations and every name; the ledger stays without them', async () => {
    const { own, id, userId, key } = await createFullAccount();
    const deleted = await deleteAccount(sql, id, `dashboard:${userId}`);
    expect(await rowsWith(`${own}|${userId}`)).toEqual([]);
    const [account] = await sql`SELECT name, deleted_at FROM accounts WHERE id = ${id}`;
    expect({ ...account }).toEqual({ name: '', deleted_at: deleted });
    const [stored] = await sql`SELECT name, revoked_at FROM api_keys WHERE id = ${key.id}`;
    expect({ ...stored }).toEqual({ name: '', revoked_at: deleted });
    const history = await loadHistory(sql, id);
    expect(history.map(({ kind, actor }) => [kind, actor])).toEqual([
      ['created', 'cli:rui'],
      ['member-invited', 'cli:rui'],
      ['member-added', 'member'],
      ['member-invited', 'cli:rui'],
      ['key-created', 'member'],
      ['key-rotated', 'member'],
      ['credits', 'cli:rui'],
      ['deleted', 'member'],
    ]);
    const [balance] = await sql`SELECT used, credits FROM balances WHERE account_id = ${id}`;
    expect({ ...balance }).toEqual({ used: 1, credits: 100 });
    expect(await sql`SELECT calls FROM calls_by_day WHERE account_id = ${id}`).toMatchObject([{ calls: 1 }]);
    expect(await sql`SELECT 1 FROM account_refreshes WHERE account_id = ${id}`).toHaveLength(0);
    expect(await sql`SELECT 1 FROM daily_counts WHERE is_error AND account_id = ${id}`).toHaveLength(0);
  });

  test('leaves nothing that can be changed, invited to or shown, and keeps its date when it is repeated', async () => {
    const { id, key, pending } = await createFullAccount();
    const first = await deleteAccount(sql, id, 'cli:rui');
    expect(await deleteAccount(sql, id, 'cli:rui')).toEqual(first);
    await expect(deleteAccount(sql, 'acc_none', 'cli:rui')).rejects.toThrow('there is no account');
    const gone = `there is no account "${id}"`;
    await expect(requireAccount(sql, id)).rejects.toThrow(gone);
    expect((await listAccounts(sql)).map((account) => account.id)).not.toContain(id);
    expect(await findInvitation(sql, pending.token)).toBeNull();
    await expect(createKey(sql, id, '', 'test')).rejects.toThrow(gone);
    await expect(grantCredits(sql, id, { credits: 1 }, 'test')).rejects.toThrow(gone);
    await expect(setSuspended(sql, id, false, 'test')).rejects.toThrow(gone);
    await expect(invite(sql, { accountId: id, email: 'x@example.com' }, 'test')).rejects.toThrow(gone);
    await expect(exportOf(id)).rejects.toThrow(gone);
    await expect(rotateKey(sql, key.id, 0, 'test')).rejects.toThrow('is revoked');
  });

  test('leaves other accounts alone', async () => {
    const [one, other] = [await createFullAccount(), await createFullAccount()];
    const { exported: _, ...before } = await exportOf(other.id);
    await deleteAccount(sql, one.id, 'cli:rui');
    expect(await exportOf(other.id)).toEqual({ ...before, exported: expect.any(String) });
  });

  /**
   * Each stores rows whose order in the table is the opposite of their key's, and notes changes of all of them.
   * @returns the row in the middle, which is locked until the write of the notes and the deletion both wait. So they deadlock if they
   * lock rows in different orders
   */
  const MANY: Record<string, (id: string, notes: Notes) => Promise<{ middle: RowsQuery }>> = {
    async daily_counts(id, notes) {
      await sql`INSERT INTO daily_counts SELECT ${id}, '2026-03-01', 'key_' || n, '4xx', -1, true, 1, 0 FROM generate_series(9, 1, -1) n`;
      setSystemTime(new Date('2026-03-01T12:00:00Z'));
      for (let key = 1; key < 10; key += 1)
        noteProblem(notes, { accountId: id, keyId: `key_${key}` }, 'validation');
      setSystemTime();
      return { middle: sql`account_id = ${id} AND key_id = 'key_5'` };
    },
    async api_key_uses(id, notes) {
      const ofAccount = sql`FROM api_keys WHERE account_id = ${id} ORDER BY secret_sha256`;
      await sql`INSERT INTO api_key_uses SELECT secret_sha256, '2026-01-01' ${ofAccount} DESC`;
      const rows = await sql<{ hash: string }[]>`SELECT encode(secret_sha256, 'base64') AS hash ${ofAccount}`;
      for (const { hash } of rows) notes.used(hash);
      return { middle: sql`secret_sha256 = decode(${rows[4]!.hash}, 'base64')` };
    },
  };

  test.each(Object.entries(MANY))(
    'beside a write of many rows of %s deadlocks with none of them',
    async (table, prepare) => {
      const { id } = await createAccount(sql, { name: 'Test', plan: 'plus' }, 'test');
      for (let key = 0; key < 9; key += 1) await createKey(sql, id, '', 'test');
      const notes = createNotes(sql);
      const { middle } = await prepare(id, notes);
      let outcomes: Promise<unknown> | undefined;
      await sql.begin(async (locking) => {
        await locking`SELECT FROM ${sql(table)} WHERE ${middle} FOR UPDATE`;
        const writing = notes.write();
        await waitingForLock(sql, 1);
        const deleting = deleteAccount(sql, id, 'test');
        await waitingForLock(sql, 2);
        outcomes = Promise.all([writing, deleting]);
      });
      await outcomes;
      expect(await sql`SELECT FROM ${sql(table)} WHERE ${middle}`).toHaveLength(0);
    },
  );

  test('at the same time as acceptances, invitations, rotations and new keys leaves no member and no active key', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id, key, pending } = await createFullAccount();
      const outcomes = await Promise.allSettled([
        acceptInvitation(sql, pending.token, 'Eva', 'scrypt'),
        rotateKey(sql, key.id, 60, 'test'),
        deleteAccount(sql, id, 'test'),
        createKey(sql, id, 'late', 'test'),
        invite(sql, { accountId: id, email: `late-${id}@example.com` }, 'test'),
      ]);
      expect(outcomes[2]).toMatchObject({ status: 'fulfilled' });
      const [left] = await sql`
        SELECT (SELECT count(*) FROM dashboard_members WHERE account_id = ${id}) AS members,
          (SELECT count(*) FROM dashboard_invitations WHERE account_id = ${id}) AS invitations,
          (SELECT count(*) FROM dashboard_users WHERE "email" LIKE '%' || ${pending.email}) AS users,
          (SELECT count(*) FROM api_keys WHERE account_id = ${id} AND (revoked_at IS NULL OR name <> '')) AS keys`;
      expect({ ...left }).toEqual({ members: 0, invitations: 0, users: 0, keys: 0 });
    }
  });
});

/** Rows of one table, each as old as it says, and the most days for which they are kept. */
const KEPT: [
  what: string,
  days: number,
  table: string,
  store: (accountId: string, ago: number) => PromiseLike<unknown>,
][] = [
  [
    'invitations that have ended',
    30,
    'dashboard_invitations',
    async (accountId, ago) => {
      const email = `guest-${ago}@example.com`;
      await invite(sql, { accountId, email }, 'test');
      await sql`UPDATE dashboard_invitations SET expires_at = now() - ${ago} * interval '1 day' WHERE email = ${email}`;
    },
  ],
  [
    'counts by hour',
    3,
    'daily_counts',
    (accountId, ago) => sql`
      INSERT INTO daily_counts (account_id, day, key_id, kind, hour, is_error, calls, credits)
      VALUES (${accountId}, (now() AT TIME ZONE 'UTC')::date - ${Math.trunc(ago)}::integer, '*', 'search', 5, false, 1, 0)`,
  ],
  [
    'connections that have ended',
    90,
    'connections',
    async (accountId, ago) => {
      const { id } = await createKey(sql, accountId, '', 'test');
      await sql`
        UPDATE api_keys SET is_connection = true, revoked_at = now() - ${ago} * interval '1 day' WHERE id = ${id}`;
      await sql`
        INSERT INTO connections VALUES (${id}, ${accountId}, 'u1', 'client', 'Agent', 'https://a.example', ${randomBytes(9)}, '')`;
    },
  ],
  [
    'agents that registered themselves',
    1,
    'connection_clients',
    (_, ago) => sql`
      INSERT INTO connection_clients VALUES (${`client-${ago}`}, 'Agent', '{}', now() - ${ago} * interval '1 day')`,
  ],
];

test.each(KEPT)('%s are kept for %d days', async (_, days, table, store) => {
  await removeExpired(sql);
  const rowsOf = async () => (await sql`SELECT FROM ${sql(table)}`).length;
  const before = await rowsOf();
  const { id } = await createAccount(sql, { name: 'Test', plan: 'free' }, 'test');
  for (const ago of [days - 0.1, days + 0.1]) await store(id, ago);
  expect(await rowsOf()).toBe(before + 2);
  await removeExpired(sql);
  expect(await rowsOf()).toBe(before + 1);
});

test('the statements of docs/data-protection.md do what it says', async () => {
  const page = await Bun.file(join(ROOT, 'docs/data-protection.md')).text();
  const [retain, rename] = [...page.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, statement]) => statement!);
  for (const [nif, days] of [
    ['123456789', 91],
    ['234567899', 89],
    ['451234564', 91],
    ['500002576', 91],
  ] as const)
    await storeRecord(sql, nif, 'Padaria', new Date(Date.now() - days * 86_400_000));
  await sql.unsafe(retain!);
  const kept = await sql`SELECT nif FROM companies ORDER BY nif`;
  expect(kept.map(({ nif }) => nif)).toEqual(['234567899', '500002576']);
  const { id } = await createAccount(sql, { name: 'Ana', plan: 'free' }, 'test');
  await sql.unsafe(rename!.replace('acc_…', id));
  expect((await requireAccount(sql, id)).name).toBe('removed');
});
