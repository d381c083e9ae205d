/** A statement that waits for a connection of a hung Postgres must not run later, once its caller has given up. */
import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { createCompanyReader } from '../../../src/companies/lookup/lookup-store.ts';
import { createAuthenticator } from '../../../src/metering/keys/authenticate.ts';
import { generateSecret } from '../../../src/metering/keys/secret.ts';
import { createLogTo } from '../../../src/platform/observability/log.ts';
import { connectPostgres, type Sql } from '../../../src/platform/postgres/connect.ts';
import { createHealth } from '../../../src/service/health.ts';
import { storeProbes } from '../../../src/service/probes.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startProxy } from '../../support/proxy.ts';
import { searchOf } from '../../support/search-entries.ts';
import { until } from '../../support/until.ts';

/** Its connections are never made. */
let pool: Sql;
let queries: { cancelled: unknown }[];

const database = await createTestDatabase('given_up');
const proxy = await startProxy(database.url);
proxy.hang();
afterAll(async () => {
  await proxy.close();
  await database.drop();
});
beforeEach(() => {
  pool = connectPostgres(proxy.url(database.url), { max: 1 });
  queries = [];
});
afterEach(() => pool.end({ timeout: 0 }));

/** The pool, its queries kept; notifications are heard of a Postgres that lives. */
function kept(): Sql {
  return new Proxy(pool, {
    apply(target, self, parameters) {
      const query = Reflect.apply(target, self, parameters);
      queries.push(query);
      return query;
    },
    get: (target, name) => Reflect.get(name === 'listen' ? database.sql : target, name),
  });
}

/** The caller may get its answer a moment before. */
const areTakenBack = () =>
  until(
    'the query taken back',
    async () => queries.length > 0 && queries.every(({ cancelled }) => cancelled === true),
  );

test('the probe of readiness', async () => {
  const health = createHealth(
    storeProbes({ sql: kept(), elasticsearch: null, search: searchOf(database.sql) }, () => ({
      warning: null,
    })),
    () => false,
    createLogTo({ write: () => {} }),
  );
  expect((await health.ready()).status).toBe(503);
  await areTakenBack();
});

test('the look for a key', async () => {
  const authenticator = await createAuthenticator(kept());
  await expect(authenticator.authenticate(generateSecret())).rejects.toThrow('did not answer');
  await areTakenBack();
  await authenticator.close();
});

test('the look for a record', async () => {
  await expect(createCompanyReader(kept(), 60).findCompany('500002576')).rejects.toThrow('did not answer');
  await areTakenBack();
});
