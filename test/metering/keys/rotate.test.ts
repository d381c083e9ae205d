import { afterAll, describe, expect, test } from 'bun:test';
import { createAccount, requireAccount } from '../../../src/metering/accounts/account-store.ts';
import { createAuthenticator } from '../../../src/metering/keys/authenticate.ts';
import { findKey } from '../../../src/metering/keys/key-list.ts';
import { createKey, renameKey, revokeKey } from '../../../src/metering/keys/key-store.ts';
import { ROTATIONS_PER_DAY, rotateKey } from '../../../src/metering/keys/rotate.ts';
import { hashSecret } from '../../../src/metering/keys/secret.ts';
import { createTestDatabase } from '../../support/database.ts';
import { createCaller } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const HOUR_S = 3600;

const database = await createTestDatabase('rotate');
const sql = database.sql;
/** Two instances. */
const instances = [await createAuthenticator(sql), await createAuthenticator(sql)];
afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.close()));
  await database.drop();
});

const ask = (secret: string) => instances[0]!.authenticate(secret);
const clock = async () => (await sql<{ now: Date }[]>`SELECT clock_timestamp() AS now`)[0]!.now;

/** Asks again and again until the secret is refused: that is at `end` by Postgres's clock, and no question of a later time is accepted. */
async function expectEnd(secret: string, end: Date): Promise<void> {
  let late = false;
  await until('the refusal', async () => {
    const askedAt = await clock();
    const callers = await Promise.all(instances.map((instance) => instance.authenticate(secret)));
    const isAccepted = callers.some((caller) => caller !== null);
    if (isAccepted && askedAt >= end) late = true;
    return !isAccepted;
  });
  expect([late, (await clock()) >= end]).toEqual([false, true]);
}

describe('an expiry', () => {
  test('is honoured by Postgres’s clock, although answers are remembered', async () => {
    const { keyId, key } = await createCaller(sql);
    const [row] = await sql<{ expires: Date }[]>`
      UPDATE api_keys SET expires_at = date_trunc('milliseconds', clock_timestamp()) + interval '1 second'
      WHERE id = ${keyId} RETURNING expires_at AS expires`;
    expect(await ask(key)).toMatchObject({ keyId });
    await expectEnd(key, row!.expires);
  });

  test('must be in the future when the key is created', async () => {
    const { id } = await createAccount(sql, { name: 'Test', plan: 'free' }, 'test');
    await expect(createKey(sql, id, '', 'test', new Date('2026-01-01T00:00:00Z'))).rejects.toThrow(
      "a key can't expire at 2026-01-01T00:00:00.000Z",
    );
    const expires = new Date(Date.now() + 60_000);
    const key = await createKey(sql, id, '', 'test', expires);
    expect(await findKey(sql, id, key.id)).toMatchObject({ expires });
  });

  test('ends the overlap of a rotation, and an expired key can’t be rotated', async () => {
    const { keyId, accountId } = await createCaller(sql);
    const [row] = await sql<{ expires: Date }[]>`
      UPDATE api_keys SET expires_at = date_trunc('milliseconds', now()) + interval '1 minute'
      WHERE id = ${keyId} RETURNING expires_at AS expires`;
    const rotated = await rotateKey(sql, keyId, HOUR_S, 'test');
    expect(rotated.previousUntil).toEqual(row!.expires);
    expect(await findKey(sql, accountId, keyId)).toMatchObject({ expires: row!.expires });
    await sql`UPDATE api_keys SET expires_at = now() WHERE id = ${keyId}`;
    await expect(rotateKey(sql, keyId, HOUR_S, 'test')).rejects.toThrow('has expired');
  });
});

describe('a rotation', () => {
  test('keeps id, name and expiry; both secrets are the same key, which counts once', async () => {
    const { id: accountId } = await createAccount(sql, { name: 'Test', plan: 'free' }, 'test');
    const expires = new Date(Date.now() + 7 * 24 * 3_600_000);
    const { id, secret } = await createKey(sql, accountId, 'production', 'test', expires);
    const since = await clock();
    const rotated = await rotateKey(sql, id, HOUR_S, 'cli:ana');
    expect(rotated).toEqual({
      id,
      secret: expect.stringMatching(/^svc_[a-z2-7]{40}$/),
      previousUntil: expect.any(Date),
    });
    const began = rotated.previousUntil.getTime() - HOUR_S * 1000;
    expect(began).toBeWithin(since.getTime(), (await clock()).getTime() + 1);
    const limits = { plan: 'free' as const, requestsPerMinute: 20, only: null, budget: null, shares: null };
    const caller = { accountId, keyId: id, isTest: false, ...limits };
    expect({ ...(await ask(secret)) }).toEqual(caller);
    expect({ ...(await ask(rotated.secret)) }).toEqual(caller);
    expect({ ...(await findKey(sql, accountId, id)) }).toMatchObject({
      id,
      name: 'production',
      start: rotated.secret.slice(0, 10),
      expires,
      previousUntil: rotated.previousUntil,
    });
    expect((await requireAccount(sql, accountId)).keys).toBe(1);
    const events = await sql`
      SELECT actor, detail FROM account_events WHERE account_id = ${accountId} AND kind = 'key-rotated'`;
    expect(events.map((row) => ({ ...row }))).toEqual([
      { actor: 'cli:ana', detail: { key: id, previousUntil: rotated.previousUntil.toISOString() } },
    ]);
  });

  test('ends the previous secret at the end of its overlap by Postgres’s clock', async () => {
    const { keyId, key } = await createCaller(sql);
    const { secret, previousUntil } = await rotateKey(sql, keyId, 1, 'test');
    await expectEnd(key, previousUntil);
    expect(await ask(secret)).toMatchObject({ keyId });
  });

  test('with an overlap of 0 ends every earlier secret within 5 seconds, on every instance', async () => {
    const { keyId, key } = await createCaller(sql);
    const middle = await rotateKey(sql, keyId, HOUR_S, 'test');
    const last = await rotateKey(sql, keyId, 0, 'test');
    for (const instance of instances) {
      for (const secret of [key, middle.secret]) {
        await until('the refusal', async () => (await instance.authenticate(secret)) === null);
      }
      expect(await instance.authenticate(last.secret)).toMatchObject({ keyId });
    }
    const rows = await sql`SELECT 1 FROM api_key_previous_secrets WHERE key_id = ${keyId}`;
    expect(rows).toHaveLength(0);
  });

  test('never prolongs an earlier secret, and takes none out of use before its overlap', async () => {
    const { keyId, key, accountId } = await createCaller(sql);
    const short = await rotateKey(sql, keyId, HOUR_S, 'test');
    const long = await rotateKey(sql, keyId, 2 * HOUR_S, 'test');
    const untilOf = async (secret: string) =>
      (await sql`SELECT until FROM api_key_previous_secrets WHERE secret_sha256 = ${hashSecret(secret)}`)[0]!
        .until;
    expect(await untilOf(key)).toEqual(short.previousUntil);
    expect(await untilOf(short.secret)).toEqual(long.previousUntil);
    expect((await findKey(sql, accountId, keyId))!.previousUntil).toEqual(long.previousUntil);
    for (const secret of [key, short.secret, long.secret]) expect(await ask(secret)).toMatchObject({ keyId });
  });

  test('five at once leave every secret working', async () => {
    const { keyId, key } = await createCaller(sql);
    const rotated = await Promise.all(Array.from({ length: 5 }, () => rotateKey(sql, keyId, HOUR_S, 'test')));
    for (const secret of [key, ...rotated.map(({ secret }) => secret)]) {
      expect(await ask(secret)).toMatchObject({ keyId });
    }
  });

  test('loses no request: under load, old and new secrets are accepted on both instances throughout', async () => {
    const { keyId, key } = await createCaller(sql);
    const secrets = [key];
    let isOver = false;
    const refused: string[] = [];
    let accepted = 0;
    const clients = instances.flatMap((instance) =>
      Array.from({ length: 8 }, async () => {
        while (!isOver) {
          for (const secret of [secrets.at(-1)!, secrets[0]!]) {
            if ((await instance.authenticate(secret)) === null) refused.push(secret);
            else accepted += 1;
          }
          await Bun.sleep(0);
        }
      }),
    );
    for (let rotation = 0; rotation < 10; rotation += 1) {
      secrets.push((await rotateKey(sql, keyId, HOUR_S, 'test')).secret);
      const before = accepted;
      await until('requests between rotations', () => accepted > before + 100);
    }
    isOver = true;
    await Promise.all(clients);
    expect(refused).toEqual([]);
  });

  test('is refused for revoked and unknown keys, and after 20 in a day; a revocation ends all secrets', async () => {
    const { keyId, key } = await createCaller(sql);
    let last = key;
    for (let count = 0; count < ROTATIONS_PER_DAY; count += 1) {
      last = (await rotateKey(sql, keyId, HOUR_S, 'test')).secret;
    }
    await expect(rotateKey(sql, keyId, HOUR_S, 'test')).rejects.toThrow('was rotated 20 times');
    await revokeKey(sql, keyId, 'test');
    for (const secret of [key, last]) await until('the refusal', async () => (await ask(secret)) === null);
    await expect(rotateKey(sql, keyId, HOUR_S, 'test')).rejects.toThrow('is revoked');
    await expect(rotateKey(sql, 'key_none', HOUR_S, 'test')).rejects.toThrow('there is no key "key_none"');
  });
});

test('a key is renamed; the ledger says so without either name', async () => {
  const { accountId, keyId } = await createCaller(sql);
  await renameKey(sql, keyId, 'production', 'cli:ana');
  await renameKey(sql, keyId, 'production', 'cli:ana');
  expect((await findKey(sql, accountId, keyId))!.name).toBe('production');
  const events = await sql`
    SELECT detail FROM account_events WHERE account_id = ${accountId} AND kind = 'key-renamed'`;
  expect(events.map(({ detail }) => detail)).toEqual([{ key: keyId }]);
});
