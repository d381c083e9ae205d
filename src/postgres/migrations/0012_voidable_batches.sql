-- A batch of credits is one row of call_journal, with the id of the attempt that charged it. A batch whose outcome is
-- unknown is voided by that id (src/credits/void.ts). Two tables keep the calls: the journal, and the counts of each day.
-- The version before was never released. While it still runs it charges exactly, and the roll-up is this version's. What it
-- would return, it logs instead, because the tables are gone that it needs for that.
LOCK TABLE call_journal, moved_calls, daily_calls, balances IN ACCESS EXCLUSIVE MODE;

DROP VIEW calls_by_day;
INSERT INTO daily_calls AS daily (account_id, day, key_id, kind, calls)
SELECT entry.account_id, (at AT TIME ZONE 'UTC')::date AS day, entry.key_id, entry.kind, sum(entry.calls)
FROM call_journal journal,
  unnest(account_ids, key_ids, kinds, journal.calls) AS entry (account_id, key_id, kind, calls)
GROUP BY entry.account_id, day, entry.key_id, entry.kind
ON CONFLICT (account_id, day, key_id, kind) DO UPDATE SET calls = daily.calls + excluded.calls;
TRUNCATE call_journal;
DROP TABLE moved_calls, give_backs;

ALTER TABLE call_journal
  ADD PRIMARY KEY (attempt),
  ADD COLUMN counted boolean NOT NULL DEFAULT false, -- its calls are in daily_calls
  ADD COLUMN voided boolean NOT NULL DEFAULT false; -- its calls are to be returned, or must never be charged
CREATE INDEX call_journal_counted ON call_journal (counted, spent_at);
CREATE INDEX call_journal_voided ON call_journal (attempt) WHERE voided;

-- What the dashboard reads: calls that were rolled up, and those that were not yet.
CREATE VIEW calls_by_day AS
SELECT account_id, day, key_id, kind, sum(calls)::bigint AS calls
FROM (
  SELECT account_id, day, key_id, kind, calls FROM daily_calls
  UNION ALL
  SELECT entry.account_id, (journal.at AT TIME ZONE 'UTC')::date, entry.key_id, entry.kind, entry.calls
  FROM call_journal journal,
    unnest(account_ids, key_ids, kinds, journal.calls) AS entry (account_id, key_id, kind, calls)
  WHERE NOT journal.counted
) AS rolled_up
GROUP BY account_id, day, key_id, kind
HAVING sum(calls) <> 0;
