/**
 * A statement with a list as a parameter is sent for one item while few requests come, and for hundreds otherwise. Without the
 * settings of `pointQueries` Postgres plans it for each list: it took four times as long as the statement. And it takes the journal, which
 * keeps ten minutes, for a table to read whole, each time that its calls are counted.
 */
import { afterAll, expect, test } from 'bun:test';
import { connectPostgres } from '../../src/platform/postgres/connect.ts';
import { API_ROUTES } from '../../src/service/endpoints.ts';
import { requestFor } from '../companies/test-world/requests.ts';
import { PLENTY, startApi } from '../support/api.ts';
import { ask } from '../support/ask.ts';
import { MODES } from '../support/modes.ts';
import { startProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

/** A parameter that is an array, JSON that is read as rows, or the journal. */
const LIST = /\$\d+\)?::\w+\[\]|_to_recordset\(\$|\bcall_journal\b/;

/** What each connection has sent. */
const sent = new Map<object, Buffer[]>();

/** The texts of the statements that a connection has prepared, without the start of the connection. */
function* preparedIn(bytes: Buffer): Generator<string> {
  for (let at = bytes.readInt32BE(0); at < bytes.length; at += 1 + bytes.readInt32BE(at + 1)) {
    if (bytes[at] === 'P'.charCodeAt(0)) yield bytes.toString('utf8', at + 5).split('\0', 2)[1]!;
  }
}

const api = await startApi({ mode: 'full', directory: 'nif,legal_name\n500002576,Padaria\n' });
const tap = await startProxy(api.env.DATABASE_URL!, {
  sent: (piece, connection) =>
    void sent.set(connection, [...(sent.get(connection) ?? []), Buffer.from(piece)]),
});
afterAll(async () => {
  await api.stop();
  await tap.close();
});

test.each([...MODES])(
  'a statement with a list, or of the journal, is sent with the settings of point queries only, and reads no table whole that grows (%s)',
  async (mode) => {
    sent.clear();
    const service = await api.startInstance({
      DATABASE_URL: tap.url(api.env.DATABASE_URL!),
      ELASTICSEARCH_URL: mode === 'full' ? api.env.ELASTICSEARCH_URL! : '',
    });
    const { key } = await api.caller(PLENTY);
    for (const route of API_ROUTES) {
      const [path, options] = requestFor(route, null);
      await ask(service, path, { ...options, key });
    }
    // Another instance counts charges, too.
    await until('the roll-up of a charge', async () => {
      await ask(service, '/companies?q=', { key });
      return [...sent.values()].flat().some((bytes) => bytes.includes('SET counted = true'));
    });
    await service.stop(); // writes what it notes in memory

    const withList = { planned: [] as string[], generic: [] as string[] };
    for (const chunks of sent.values()) {
      const bytes = Buffer.concat(chunks);
      const start = bytes.toString('latin1', 0, bytes.readInt32BE(0));
      const texts = start.includes('force_generic_plan') ? withList.generic : withList.planned;
      for (const text of preparedIn(bytes)) if (LIST.test(text)) texts.push(text);
    }
    expect(withList.planned).toEqual([]);
    const whole = new Set<string>();
    const pool = connectPostgres(api.env.DATABASE_URL!, { max: 1, pointQueries: true });
    for (const text of new Set(withList.generic)) {
      const plan = await pool.unsafe(`EXPLAIN (GENERIC_PLAN) ${text}`);
      for (const { 'QUERY PLAN': line } of plan)
        for (const [, table] of line.matchAll(/Seq Scan on (\w+)/g)) whole.add(table!);
    }
    await pool.end();
    // Of a few rows each. A directory is read in its physical order, where words are frequent.
    const few = ['debt_change_numbers', 'debt_datasets', 'plans'];
    expect([...whole].filter((table) => !table.startsWith('directory_g')).sort()).toEqual(few);
    // Keys, credits, their counts, records, debts and their changes, account and key, and what is noted.
    expect(new Set(withList.generic).size).toBeGreaterThanOrEqual(8);
  },
);
