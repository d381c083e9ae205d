/** The last use of each secret, and refused calls by key: counted without a statement on the path of a request. */
import { afterAll, expect, test } from 'bun:test';
import { setSuspended } from '../../../src/metering/accounts/changes.ts';
import { createAuthenticator } from '../../../src/metering/keys/authenticate.ts';
import { findKeyDetails } from '../../../src/metering/keys/details.ts';
import { endPreviousSecrets } from '../../../src/metering/keys/expire.ts';
import { rotateKey } from '../../../src/metering/keys/rotate.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { revokeKey } from '../../../src/metering/keys/store.ts';
import { createNotes } from '../../../src/metering/notes/notes.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const database = await createTestDatabase('key_uses');
const { sql } = database;
const uses = createNotes(sql);
const refused: string[] = [];
const authenticator = await createAuthenticator(sql, {
  used: uses.used,
  refused: ({ keyId }) => void refused.push(keyId),
});
afterAll(async () => {
  await authenticator.close();
  await database.drop();
});

const lastUses = async (id: string) =>
  (await findKeyDetails(sql, id))!.secrets.map(({ lastUsed }) => lastUsed?.getTime() ?? null);

test('uses are written to the minute, each secret apart, and an earlier one never replaces a later one', async () => {
  const { key, keyId } = await createCaller(sql);
  await uses.write();
  expect(await lastUses(keyId)).toEqual([null]);
  const sinceMs = Date.now();
  await authenticator.authenticate(key);
  await uses.write();
  const [first] = await lastUses(keyId);
  expect(first! % 60_000).toBe(0);
  expect(first!).toBeWithin(sinceMs - 60_000, Date.now() + 1);
  const { secret } = await rotateKey(sql, keyId, 3600, 'test');
  expect(await lastUses(keyId)).toEqual([null, first!]);
  await sql`UPDATE api_key_uses SET used_at = '2999-01-01T00:00:00Z'`;
  for (const each of [key, secret]) await authenticator.authenticate(each);
  await uses.write();
  const [current, previous] = await lastUses(keyId);
  expect([current! >= first!, previous]).toEqual([true, Date.parse('2999-01-01T00:00:00Z')]);
});

test('a secret that is refused counts for its key, again from the cache, and a secret that never was one for none', async () => {
  const { key, keyId, accountId } = await createCaller(sql);
  const isRefused = async (secret: string) => (await authenticator.authenticate(secret)) === null;
  const { secret } = await rotateKey(sql, keyId, 3600, 'test');
  await endPreviousSecrets(sql, keyId, 'test');
  await until('the end of the old secret', () => isRefused(key));
  await setSuspended(sql, accountId, true, 'test');
  await until('the suspension', () => isRefused(secret));
  await setSuspended(sql, accountId, false, 'test');
  await until('the resumption', async () => !(await isRefused(secret)));
  await revokeKey(sql, keyId, 'test');
  await until('the revocation', () => isRefused(secret));
  expect([...new Set(refused)]).toEqual([keyId]);
  const before = refused.length;
  for (let count = 0; count < 3; count += 1) await isRefused(secret);
  await isRefused(generateSecret());
  await isRefused(`svc_${'x'.repeat(39)}!`);
  expect(refused.length).toBe(before + 3);
});
