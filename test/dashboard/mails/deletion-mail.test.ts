import { afterAll, expect, test } from 'bun:test';
import { invite } from '../../../src/dashboard/account/invitations.ts';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { startMailedDashboard } from '../service.ts';
import { acceptAs, createMember, newPerson } from '../visitor.ts';

const { mail, service, stop } = await startMailedDashboard();
afterAll(() => stop());

test.each([false, true])(
  'a deleted account tells its confirmed members that it is, and who did it (suspended: %p)',
  async (isSuspended) => {
    const { visitor, accountId, email, name, password } = await createMember(service);
    const [confirmed, unconfirmed] = [newPerson(), newPerson()];
    for (const person of [confirmed, unconfirmed]) {
      const { token } = await invite(service.sql, { accountId, email: person.email, role: 'member' }, 'test');
      await acceptAs(service.baseUrl, token, person.name);
    }
    await service.sql`UPDATE dashboard_users SET "emailVerified" = false WHERE "email" = ${unconfirmed.email}`;
    if (isSuspended) {
      await setSuspended(service.sql, accountId, true, 'test');
      await visitor.submit('/dashboard/sign-in', { email, password });
    }
    const deleted = await visitor.submit('/dashboard/settings/delete', { name, present: password });
    expect(deleted.headers.get('location')).toEndWith('?done=deleted');
    for (const to of [email, confirmed.email])
      expect((await mail.mailTo(to)).text).toContain(`${email} deleted this account.`);
    expect(mail.received(unconfirmed.email)).toBe(0);
  },
);
