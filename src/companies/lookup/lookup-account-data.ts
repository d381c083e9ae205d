import type { AccountData } from '../../metering/account-data/account-data.ts';

/** The rows of accounts that the companies' wing stores: their refreshes. */
export const COMPANIES_DATA: AccountData = {
  lists: (sql, id) => ({
    refreshes: sql`
      SELECT day::text, refreshes, last_minute AS "lastMinute" FROM account_refreshes WHERE account_id = ${id}`,
  }),

  async remove(sql, id) {
    await sql`DELETE FROM account_refreshes WHERE account_id = ${id}`;
  },
};
