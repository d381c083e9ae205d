/** Calls with an error, as the overview and the CSV show them. */
import { afterAll, expect, test } from 'bun:test';
import { createKey } from '../../../src/metering/keys/store.ts';
import { storeCallCounts, storeCostlyErrorCounts } from '../../support/counts.ts';
import { eventually } from '../../support/until.ts';
import { startDashboardService } from '../service.ts';
import { createMember, createMemberWithKey, type PageAnswer } from '../visitor.ts';

const service = await startDashboardService();
afterAll(() => service.stop());

test('a key without errors has no section about them', async () => {
  const { visitor, id } = await createMemberWithKey(service);
  expect((await visitor.get(`/dashboard/keys/${id}`)).textOf('#errors')).toBeNull();
});

test('errors of a key in 30 days are summed by kind, listed by day, and stand beside the calls in the CSV', async () => {
  const { visitor, accountId } = await createMember(service);
  const { id: keyId } = await createKey(service.sql, accountId, 'web', 'test');
  const { sql } = service;
  const [dates] = await sql`SELECT today::text, (today - 29)::text AS first, (today - 30)::text AS before
    FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock`;
  const { today, first, before } = dates!;
  await storeCallCounts(sql, sql`VALUES (${accountId}, ${today}, ${keyId}, 'lookup', 1500)`);
  await storeCostlyErrorCounts(
    sql,
    sql`VALUES
      (${accountId}, ${before}, ${keyId}, '4xx', 99, 99), (${accountId}, ${first}, ${keyId}, '5xx', 2, 1),
      (${accountId}, ${today}, ${keyId}, '4xx', 1200, 1200), (${accountId}, ${today}, ${keyId}, 'rate-limit-exceeded', 3, 0),
      (${accountId}, ${today}, ${keyId}, 'monthly-quota-exceeded', 4, 0), (${accountId}, ${today}, ${keyId}, 'key-limits', 5, 0),
      (${accountId}, ${today}, '', '4xx', 1, 1)`,
  );
  const page = await visitor.get(`/dashboard/keys/${keyId}`);
  expect(totalsOf(page)).toEqual({
    'Too many requests in a minute (429)': '3',
    'No credits left (429)': '4',
    'Limits of a key (403, 429)': '5',
    'Not valid, not found or expired (400, 404, 410)': '1,200',
    'Failed here (500 to 503)': '2',
    credits: '1,201',
  });
  expect([...page.document.querySelectorAll('#errors .plot title')].map((bar) => bar.textContent)).toEqual([
    expect.stringMatching(/: 2\nFailed here \(500 to 503\): 2$/),
    expect.stringMatching(
      /: 1,212\nToo many requests in a minute \(429\): 3\nNo credits left \(429\): 4\nLimits of a key \(403, 429\): 5\nNot valid/,
    ),
  ]);
  const rows = [...page.document.querySelectorAll('#errors tbody tr')].map((row) => [
    row.querySelector('time')!.getAttribute('datetime'),
    ...[...row.querySelectorAll('td')].map((cell) => cell.textContent),
  ]);
  expect(rows).toEqual([
    [today, '3', '4', '5', '1,200', '0', '1,212'],
    [first, '0', '0', '0', '0', '2', '2'],
  ]);
  expect(page.textOf('[data-figure=plotted]')).toBe('1,500 credits');
  expect((await visitor.get('/dashboard/usage.csv')).text.split('\r\n').slice(1, -1).toSorted()).toEqual([
    `"${before}","${keyId}","web",0,0,0,0,0,0,0,0,0,99,0,0,99`,
    `"${first}","${keyId}","web",0,0,0,0,0,0,0,0,0,0,2,0,1`,
    `"${today}","","dashboard",0,0,0,0,0,0,0,0,0,1,0,0,1`,
    `"${today}","${keyId}","web",0,0,0,1500,0,1500,3,4,5,1200,0,0,1200`,
  ]);
});

test('a call with an error, alone or in a batch, shows up within seconds; one without a key never', async () => {
  const { visitor, secret: key, id } = await createMemberWithKey(service);
  await fetch(`${service.url}/companies`, { headers: { Authorization: `Bearer ${key}` } });
  await fetch(`${service.url}/companies`);
  await fetch(`${service.url}/lookups`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ nifs: ['1', '2'] }),
  });
  const shown = async () => totalsOf(await visitor.get(`/dashboard/keys/${id}`));
  await eventually(shown, {
    'Not valid, not found or expired (400, 404, 410)': '3',
    credits: '3',
  });
});

/** The errors of a key's page by the names of their kinds, and the credits that they cost. */
function totalsOf({ document, textOf }: PageAnswer): Record<string, string | null> {
  const kinds = [...document.querySelectorAll('#errors .legend li')].map((kind) => [
    kind.querySelector('span')!.textContent,
    kind.querySelector('strong')!.textContent,
  ]);
  return { ...Object.fromEntries(kinds), credits: textOf('[data-errors=credits]') };
}
