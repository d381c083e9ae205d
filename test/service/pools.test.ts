/** The connections to Postgres of one instance (docs/operating.md: several instances). */
import { expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import * as connecting from '../../src/platform/postgres/connect.ts';
import { ROOT } from '../support/command.ts';
import { startTestService } from '../support/service.ts';

test('an instance that searches in Postgres holds as many connections as the documents say', async () => {
  const connect = spyOn(connecting, 'connectPostgres');
  await using service = await startTestService();
  // A pool is opened again when its server has changed, and once more for `LISTEN`.
  const pools = new Map(
    connect.mock.calls
      .map(([, options = {}]) => options)
      .filter(({ applicationName = '' }) => /^company-directory (serve|canary)$/.test(applicationName))
      .map((options) => [JSON.stringify(options), options.max!]),
  );
  connect.mockRestore();
  const [{ listening } = { listening: 0 }] = await service.sql<{ listening: number }[]>`
    SELECT count(*) AS listening FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen %'`;
  const held = [...pools.values()].reduce((sum, max) => sum + max, listening);
  const text = await Bun.file(join(ROOT, 'docs/operating.md')).text();
  expect(text).toContain(`Each holds up to ${held} connections to Postgres`);
});
