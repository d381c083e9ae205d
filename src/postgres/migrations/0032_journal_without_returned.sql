-- A returned call is a row of its own since the ledger charges by one statement (src/credits/void.ts). No process of the commit
-- before this one reads or writes the column.
ALTER TABLE call_journal DROP COLUMN returned;
