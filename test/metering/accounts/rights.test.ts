import { afterAll, expect, test } from 'bun:test';
import { createUser } from '../../../src/dashboard/account/invitations.ts';
import { actorOf, changeMember, listMembers } from '../../../src/dashboard/auth/members.ts';
import type { Actor } from '../../../src/metering/accounts/events.ts';
import { lockForOwner, NotOwnerError } from '../../../src/metering/accounts/rights.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';

const { sql, drop } = await createTestDatabase('rights');
afterAll(() => drop());

const isAllowed = (accountId: string, actor: Actor) =>
  sql
    .begin((sql) => lockForOwner(sql, accountId, actor))
    .then(
      () => true,
      (error) => (error instanceof NotOwnerError ? false : Promise.reject(error)),
    );

test('owners and operators make changes that want an owner; members, former owners and owners of other accounts do not', async () => {
  const { accountId } = await createCaller(sql);
  const other = await createCaller(sql);
  for (const [id, email] of [
    [accountId, 'ana@example.com'],
    [accountId, 'rui@example.com'],
    [other.accountId, 'eva@example.com'],
  ] as const)
    await createUser(sql, id, { email, name: 'Someone', password: 'a long password' }, 'test');
  const [ana, rui] = await listMembers(sql, accountId);
  const [eva] = await listMembers(sql, other.accountId);

  expect(await isAllowed(accountId, 'cli:op')).toBe(true);
  expect(await isAllowed(accountId, actorOf(rui!))).toBe(true);
  expect(await isAllowed(accountId, actorOf(eva!))).toBe(false);
  const change = (to: 'member' | 'removed') =>
    changeMember(sql, accountId, ({ id }) => id === rui!.id, to, actorOf(ana!));
  for (const end of ['member', 'removed'] as const) {
    await change(end);
    expect(await isAllowed(accountId, actorOf(rui!))).toBe(false);
  }
  expect(await isAllowed(accountId, actorOf(ana!))).toBe(true);
});
