import { entryOf, type HistoryRow } from '../../metering/account-data/history.ts';
import { isClient, isMember } from '../../metering/accounts/events.ts';
import { requireAccount } from '../../metering/accounts/store.ts';
import { batchesOf } from '../../platform/postgres/batches.ts';
import type { Sql } from '../../platform/postgres/connect.ts';
import { printableJson } from '../../platform/terminal/text.ts';
import { WINGS } from './wings.ts';

/**
 * Writes everything that is stored about an account and its members at one instant. Secrets are left out: hashes of passwords
 * and keys, tokens of sessions and links. The rows come from a cursor, so the memory does not grow with them.
 *
 * @param write gets the parts of one JSON document, with a row a line; the next part waits for it
 * @param options.reader the id of the member who reads it: `operator` stands for the names of operators, and sessions, links,
 * mails and attempts of other members are left out, because these are theirs and not the account's. Absent: an operator
 * @throws RefusedError for an unknown or deleted account, before the first part
 */
export async function exportAccount(
  sql: Sql,
  id: string,
  write: (part: string) => Promise<void>,
  { reader }: { reader?: string } = {},
): Promise<void> {
  const shown = (row: object) =>
    reader !== undefined && 'actor' in row && !isMember(String(row.actor)) && !isClient(String(row.actor))
      ? { ...row, actor: 'operator' }
      : row;
  await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (sql) => {
    const account = await requireAccount(sql, id);
    const [row] = await sql<{ at: Date; created: Date; suspended: Date | null }[]>`
      SELECT now() AS at, created_at AS created, suspended_at AS suspended FROM accounts WHERE id = ${id}`;
    const { at, ...state } = row!;
    await write(
      `{\n"exported": ${printableJson(at)},\n"account": ${printableJson({ ...account, ...state })}`,
    );
    const lists = WINGS.flatMap((wing) => Object.entries(wing.lists(sql, id, reader)));
    for (const [name, query] of lists) {
      await write(`,\n"${name}": [`);
      let separator = '\n';
      for await (const rows of batchesOf(sql, query)) {
        const ready = name === 'history' ? rows.map((row) => entryOf(row as HistoryRow)) : rows;
        await write(separator + ready.map((row) => printableJson(shown(row))).join(',\n'));
        separator = ',\n';
      }
      await write(']');
    }
    await write('\n}');
  });
}
