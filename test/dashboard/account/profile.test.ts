/** A member's name and email. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { askEmailChange, confirmEmailChange } from '../../../src/dashboard/account/email-change.ts';
import { findInvitation, invite } from '../../../src/dashboard/account/invitations.ts';
import { removeExpired } from '../../../src/dashboard/account-data/wings.ts';
import { loadHistory } from '../../../src/metering/account-data/history.ts';
import { startDashboardService, startMailedDashboard } from '../service.ts';
import { createMember, createVisitor, formTokenOf, linkTo, newPerson, type Visitor } from '../visitor.ts';

const NAME = '/dashboard/settings/name';
const EMAIL = '/dashboard/settings/email';

const { service, mail, stop } = await startMailedDashboard();
afterEach(async () => void (await service.sql`DELETE FROM dashboard_attempts`));
afterAll(stop);

const visit = () => createVisitor(service.baseUrl);
const newEmail = () => newPerson().email;
const factsOf = async (visitor: Visitor) => (await visitor.get('/dashboard/settings')).textOf('dl.facts');
const latestOf = async (accountId: string) => (await loadHistory(service.sql, accountId)).at(-1)!.kind;

test('the name is changed, and that of the account stays, which owners alone change', async () => {
  const { visitor, accountId } = await createMember(service);
  const answer = await visitor.submit(NAME, { name: '  Padaria do Rossio ' });
  expect(answer.headers.get('location')).toBe('/dashboard/settings?done=saved');
  expect(await factsOf(visitor)).toContain('Padaria do Rossio');
  expect((await visitor.get('/dashboard')).textOf('.account strong')).toBe('Padaria Central');
  expect(await latestOf(accountId)).toBe('name-changed');
});

describe('the email', () => {
  test('changes when the link to the new address is opened; the old one is told before and after', async () => {
    const { visitor, accountId, ...person } = await createMember(service);
    const email = newEmail();
    const asked = await visitor.submit(EMAIL, { email: email.toUpperCase(), present: person.password });
    const sent = '/dashboard/settings?done=email';
    expect(asked.place()).toEqual([303, sent]);
    expect((await visitor.get(sent)).textOf('[role=status]')).toContain('We sent a link');
    expect((await mail.mailTo(person.email)).text).toContain('Someone with your password asked for it.');
    expect(await factsOf(visitor)).toContain(person.email);

    const link = await linkTo(mail, email);
    const page = await visit().get(link);
    expect(page.textOf('h1')).toBe('Confirm your email');
    expect(page.textOf('.lead')).toBe(`Sign in as ${email} from now on.`);
    // Opening the link changes nothing: a mail scanner does, too.
    expect(await factsOf(visitor)).toContain(person.email);
    const elsewhere = visit();
    const changed = '/dashboard/sign-in?done=email-changed';
    expect((await elsewhere.submit(link, {})).place()).toEqual([303, changed]);
    expect((await elsewhere.get(changed)).textOf('[role=status]')).toBe('Your email is changed.');
    expect((await mail.mailTo(person.email)).text).toContain('You no longer sign in with this address');
    expect(await factsOf(visitor)).toContain(email);
    expect(await latestOf(accountId)).toBe('email-changed');
    expect((await visit().get(link)).status).toBe(404);
    expect((await visit().submit('/dashboard/sign-in', { ...person })).status).toBe(401);
    expect((await visit().submit('/dashboard/sign-in', { ...person, email })).status).toBe(303);
    const events = service.logLines.filter(({ msg }) => msg === 'security').map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(['email change asked', 'email changed']));
  });

  test('is another address', async () => {
    const { visitor, ...person } = await createMember(service);
    const answer = await visitor.submit(EMAIL, { email: person.email, present: person.password });
    expect([answer.status, answer.textOf('#email-fault')]).toEqual([422, 'That is your email already.']);
  });

  test('that another user has is answered alike; its owner gets a mail, and no link takes it', async () => {
    const { visitor, userId, ...person } = await createMember(service);
    const other = await createMember(service);
    const answer = await visitor.submit(EMAIL, { email: other.email, present: person.password });
    expect(answer.place()).toEqual([303, '/dashboard/settings?done=email']);
    const { text } = await mail.mailTo(other.email);
    expect(text).toContain('gave your email for an account');
    expect(text).toContain('/dashboard/forgot');
    const linkToken = await askEmailChange(service.sql, userId, other.email);
    expect(await confirmEmailChange(service.sql, linkToken)).toBeNull();
    expect(await factsOf(visitor)).toContain(person.email);
  });

  test('is sent one mail by a form that is sent twice; a new form’s link ends the earlier one', async () => {
    const { visitor, ...person } = await createMember(service);
    const email = newEmail();
    const fields = { form_token: await formTokenOf(visitor, EMAIL), email, present: person.password };
    const answers = await Promise.all([visitor.post(EMAIL, fields), visitor.post(EMAIL, fields)]);
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    const first = await linkTo(mail, email);
    expect(mail.received(email)).toBe(0);
    await visitor.submit(EMAIL, { email, present: person.password });
    expect((await visit().get(first)).status).toBe(404);
    // Of a visitor who is signed in it leads back to the settings.
    const answer = await visitor.submit(await linkTo(mail, email), {});
    expect(answer.headers.get('location')).toBe('/dashboard/settings?done=email-changed');
  });

  test('of one member can be asked for five times an hour', async () => {
    const { visitor, ...person } = await createMember(service);
    const ask = () => visitor.submit(EMAIL, { email: newEmail(), present: person.password });
    for (let count = 1; count <= 5; count += 1) expect((await ask()).status).toBe(303);
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(refused.textOf('[role=alert]')).toContain('Too many');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('a new password ends a change that was asked for with the old one; so does an hour', async () => {
    const { visitor, userId, ...person } = await createMember(service);
    const ended = await askEmailChange(service.sql, userId, newEmail());
    const password = 'another long secret';
    await visitor.submit('/dashboard/settings', { present: person.password, password });
    expect(await confirmEmailChange(service.sql, ended)).toBeNull();
    const late = await askEmailChange(service.sql, userId, newEmail());
    const ofUser = service.sql`user_id = ${userId}`;
    await service.sql`UPDATE dashboard_email_changes SET expires_at = now() - interval '1 ms' WHERE ${ofUser}`;
    expect(await confirmEmailChange(service.sql, late)).toBeNull();
    await removeExpired(service.sql);
    expect(await service.sql`SELECT 1 FROM dashboard_email_changes WHERE ${ofUser}`).toHaveLength(0);
  });

  test('makes links and invitations to the old address dead, also those of other accounts', async () => {
    const [{ userId, accountId, email }, other] = [await createMember(service), await createMember(service)];
    const invited = [
      await invite(service.sql, { accountId, email }, 'test'),
      await invite(service.sql, { accountId: other.accountId, email }, 'test'),
    ];
    await visit().submit('/dashboard/forgot', { email });
    const reset = await linkTo(mail, email);
    await confirmEmailChange(service.sql, await askEmailChange(service.sql, userId, newEmail()));
    for (const { token } of invited) expect(await findInvitation(service.sql, token)).toBeNull();
    expect((await visit().get(reset)).status).toBe(404);
  });

  test('confirmed twice at the same time changes once', async () => {
    const { userId, accountId } = await createMember(service);
    const linkToken = await askEmailChange(service.sql, userId, newEmail());
    const outcomes = await Promise.all([1, 2, 3].map(() => confirmEmailChange(service.sql, linkToken)));
    expect(outcomes.filter((outcome) => outcome !== null)).toHaveLength(1);
    const kinds = (await loadHistory(service.sql, accountId)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'email-changed')).toHaveLength(1);
  });
});

test('without mail the page says whom to ask, and the form changes nothing', async () => {
  await using silent = await startDashboardService({ CONTACT: 'mailto:ajuda@example.com' });
  const { visitor, ...person } = await createMember(silent);
  const page = await visitor.get(EMAIL);
  expect(page.textOf('main')).toMatch(/This service sends no email.*ajuda@example\.com/);
  expect(page.document.querySelector('main form')).toBeNull();
  const form_token = await formTokenOf(visitor, NAME);
  const sent = { form_token, email: newEmail(), present: person.password };
  expect((await visitor.post(EMAIL, sent)).status).toBe(403);
  expect(await silent.sql`SELECT 1 FROM dashboard_email_changes`).toHaveLength(0);
});
