-- Every statement that spends credits has an id. A process whose connection is lost between a commit and its answer has
-- told the callers 503, and doesn't know whether they were charged: by the id it finds out, and gives back
-- (src/credits/owed.ts).
-- No version was released before this one: none has to go on with the column that is dropped.
DROP VIEW calls_by_day;
ALTER TABLE call_journal
  ADD COLUMN attempt uuid, -- NULL: gives back
  ADD COLUMN at timestamptz, -- when the calls count at
  ADD COLUMN purchased jsonb; -- purchased credits among those spent, by account; NULL: none
UPDATE call_journal SET at = day::timestamp AT TIME ZONE 'UTC';
ALTER TABLE call_journal ALTER COLUMN at SET NOT NULL, DROP COLUMN day;

-- What was moved to daily_calls, for as long as somebody may ask for it.
CREATE TABLE moved_calls (LIKE call_journal);
ALTER TABLE moved_calls ADD COLUMN moved_at timestamptz NOT NULL DEFAULT now();

-- Where calls are read from: what was moved, and what was not yet.
CREATE VIEW calls_by_day AS
SELECT account_id, day, key_id, kind, sum(calls)::bigint AS calls
FROM (
  SELECT account_id, day, key_id, kind, calls FROM daily_calls
  UNION ALL
  SELECT entry.account_id, (journal.at AT TIME ZONE 'UTC')::date, entry.key_id, entry.kind, entry.calls
  FROM call_journal journal,
    unnest(account_ids, key_ids, kinds, journal.calls) AS entry (account_id, key_id, kind, calls)
) AS counted
GROUP BY account_id, day, key_id, kind
HAVING sum(calls) <> 0;
