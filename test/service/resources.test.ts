import { expect, test } from 'bun:test';
import { readConfig } from '../../src/config.ts';
import { openStores } from '../../src/service/resources.ts';
import { createTestEnvironment } from '../support/service.ts';

test('a store that can not be closed is reported, and the others are closed all the same', async () => {
  const { env, remove } = await createTestEnvironment({ mode: 'full' });
  const lines: string[] = [];
  const stores = await openStores(readConfig(env), { onLog: (line) => lines.push(line) });
  stores.elasticsearch!.close = () => Promise.reject(new Error('it hangs\nand hangs'));
  await stores.close();
  expect(lines).toEqual(['closing Elasticsearch failed: it hangs']);
  // Fails if a connection to Postgres was left open.
  await remove();
});
