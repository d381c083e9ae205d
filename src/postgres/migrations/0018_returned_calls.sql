-- Single calls of a batch that were given back (src/credits/give-back.ts): the id of each, so that a statement whose answer was
-- lost can be sent again. NULL: none. The version before leaves the column alone.
ALTER TABLE call_journal ADD COLUMN returned uuid[];
