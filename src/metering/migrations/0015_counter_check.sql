-- A counter is never below zero. Postgres reads the text of a CHECK again for each statement that writes the table, and the one before
-- this, of four conditions, was a fifth of the time of a charge of two calls.
ALTER TABLE counters DROP CONSTRAINT counters_check, ADD CONSTRAINT counters_check CHECK (least(used, credits) >= 0);
