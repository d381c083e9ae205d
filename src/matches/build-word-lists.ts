import type { Sql } from '../postgres/connect.ts';
import { type CopyWriter, copyInto } from '../postgres/copy.ts';
import { quoted } from '../postgres/identifier.ts';
import { INDEXED_LENGTH } from '../search/postgres.ts';
import { MIB } from '../units.ts';
import { Beginning, BLANK, frequentBeginnings } from './beginnings.ts';
import { createWordsTable, NIF_BYTES, NIFS_PER_ROW, UNDIVIDED, wordsTable } from './word-lists.ts';

/**
 * A beginning is divided if more than `from` names have it, by a sample with this share of all names. So a rare list has about
 * as many names at most.
 */
const DIVIDED = { from: 500, share: 0.02 };
/** Names that are read at a time. */
const NAMES_PER_PAGE = 10_000;

const NIF_DIGITS = 9;
const NEWLINE = 0x0a;
const FIRST_SURROGATE = 0xd800;
const LAST_OF_ONE_UNIT = 0xffff;

/**
 * The beginnings of words that are divided.
 * @param pool reads the table, which needs no index yet
 */
export async function sampleBeginnings(
  pool: Sql,
  table: string,
  { from, share } = DIVIDED,
): Promise<string[]> {
  const names = await pool
    .unsafe(
      `SELECT normalized_name FROM ${quoted(table)} TABLESAMPLE BERNOULLI (${100 * share}) REPEATABLE (1)`,
    )
    .values();
  return frequentBeginnings((names as unknown as [string][]).flat(), share, from);
}

/**
 * Builds the lists of a generation's table, which has an index in the order of results. Either all lists are there afterwards or
 * none.
 *
 * @param sql a dedicated connection
 * @param pool reads the table
 * @param divided {@link sampleBeginnings}
 */
export async function buildWordLists(
  sql: Sql,
  { sql: pool, signal }: { sql: Sql; signal: AbortSignal },
  table: string,
  divided: string[],
): Promise<void> {
  const words = wordsTable(table);
  const tree = Beginning.createTree(divided);
  await sql.begin(async (transaction) => {
    await transaction.unsafe(`DROP TABLE IF EXISTS ${quoted(words)}`);
    await transaction.unsafe(createWordsTable(words));
    const copy = await copyInto(transaction, quoted(words));
    try {
      await copy.write(rowOf(UNDIVIDED, 0, Buffer.from(divided.join(' '))));
      await writeLists(readInOrder(pool, table, signal), tree, copy);
      await copy.finish();
    } catch (error) {
      copy.abort(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
    const key = quoted(`${words}_pkey`);
    await transaction.unsafe(
      `ALTER TABLE ${quoted(words)} ADD CONSTRAINT ${key} PRIMARY KEY (beginning, last)`,
    );
    await transaction.unsafe(`ANALYZE ${quoted(words)}`);
  });
}

/**
 * The rows of a table in the order of results, some thousand at a time: each NIF and normalized name, and a newline. Postgres
 * reads the next ones meanwhile.
 */
async function* readInOrder(pool: Sql, table: string, signal: AbortSignal): AsyncGenerator<string> {
  const rows = quoted(table);
  const head = `left(sort_key, ${INDEXED_LENGTH})`;
  const behind = `
    WHERE ${head} >= (SELECT ${head} FROM ${rows} WHERE nif = $1)
      AND (sort_key, nif) > (SELECT sort_key, nif FROM ${rows} WHERE nif = $1)`;
  const readBehind = async (lastNif: string | null) => {
    const statement = `
      SELECT string_agg(nif || normalized_name || E'\\n', '' ORDER BY head, sort_key, nif) AS rows
      FROM (
        SELECT ${head} AS head, sort_key, nif, normalized_name FROM ${rows} ${lastNif === null ? '' : behind}
        ORDER BY head, sort_key, nif LIMIT ${NAMES_PER_PAGE}
      ) AS page`;
    const [page] = await pool.unsafe<{ rows: string | null }[]>(statement, lastNif === null ? [] : [lastNif]);
    return page!.rows;
  };
  let reading = readBehind(null);
  try {
    for (;;) {
      signal.throwIfAborted();
      const page = await reading;
      if (page === null) return;
      const lastRow = page.lastIndexOf('\n', page.length - 2) + 1;
      reading = readBehind(page.slice(lastRow, lastRow + NIF_DIGITS));
      reading.catch(() => {}); // thrown above
      yield page;
    }
  } finally {
    // Without it the table could not be dropped by an interrupted import.
    await reading.catch(() => {});
  }
}

/** @param pages of {@link readInOrder} */
async function writeLists(pages: AsyncGenerator<string>, tree: Beginning, copy: CopyWriter): Promise<void> {
  const nifs = Buffer.alloc(NIFS_PER_ROW * NIF_BYTES);
  let rows = '';
  const endRow = (list: Beginning) => {
    rows += rowOf(list.key, list.last, list.bytes.subarray(0, list.length));
    list.length = 0;
  };
  const send = async () => {
    await copy.write(rows);
    rows = '';
  };

  let place = 0;
  for await (const page of pages) {
    for (let at = 0; at < page.length; place += 1) {
      nifs.writeUInt32BE(Number(page.slice(at, at + NIF_DIGITS)), (place % NIFS_PER_ROW) * NIF_BYTES);
      at += NIF_DIGITS;
      let list = tree;
      for (let isEnd = false; !isEnd; ) {
        let code = page.charCodeAt(at);
        if (code >= FIRST_SURROGATE) code = page.codePointAt(at)!;
        at += code > LAST_OF_ONE_UNIT ? 2 : 1;
        isEnd = code === NEWLINE;
        if (isEnd) code = BLANK;
        // After the first beginning that is not divided, the rest of the word has no list.
        if (list.isDivided) {
          list = list.next(code);
          if (list.add(place)) endRow(list);
        }
        if (code === BLANK) list = tree;
      }
      if (place % NIFS_PER_ROW === NIFS_PER_ROW - 1) rows += rowOf('', place, nifs);
    }
    await send();
  }
  const left = place % NIFS_PER_ROW;
  if (left > 0) rows += rowOf('', place - left + NIFS_PER_ROW - 1, nifs.subarray(0, left * NIF_BYTES));
  for (const list of tree.all()) {
    if (list.length > 0) endRow(list);
    if (rows.length > MIB) await send();
  }
  await send();
}

/** A line of COPY's text format. */
function rowOf(key: string, last: number, { buffer, byteOffset, length }: Uint8Array): string {
  const hex = Buffer.from(buffer as ArrayBuffer, byteOffset, length).toString('hex');
  return `${key}\t${last}\t\\\\x${hex}\n`;
}
