-- Refreshes of company records, counted for each account and for all together: one row each, because earlier days count for nothing.
ALTER TABLE account_refreshes
  ADD COLUMN last_minute timestamptz[] NOT NULL DEFAULT '{}'; -- those of the last minute, oldest first; '{}': not bounded
CREATE TABLE day_refreshes (
  day date NOT NULL,
  refreshes integer NOT NULL,
  free_refreshes integer NOT NULL -- those of Free accounts among them
);
CREATE UNIQUE INDEX day_refreshes_single_row ON day_refreshes ((true));
INSERT INTO day_refreshes VALUES ('epoch', 0, 0);

-- Takes one refresh from every budget, or from none. A budget of NULL has no bound.
-- `refused` is the budget that is used up (NULL: taken), and `room_at` the instant at which it has room again. `today` is what all
-- accounts have taken today.
CREATE FUNCTION take_refresh(
  account text, account_day bigint, account_minute bigint, all_day bigint, free_day bigint, is_free boolean,
  OUT refused text, OUT room_at timestamptz, OUT today integer
) LANGUAGE plpgsql AS $$
DECLARE
  mine account_refreshes;
  total day_refreshes;
  instant timestamptz;
  utc_day date;
BEGIN
  -- Accounts would wait for each other's flush, and a crash may lose the last few of a count.
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO account_refreshes (account_id, day, refreshes) VALUES (account, (now() AT TIME ZONE 'UTC')::date, 0)
  ON CONFLICT DO NOTHING;
  -- The account's row first: it may be locked for long, and every account needs the other one.
  SELECT * INTO mine FROM account_refreshes WHERE account_id = account FOR UPDATE;
  SELECT * INTO total FROM day_refreshes FOR UPDATE;
  -- By the clock behind the locks, so that no day comes back.
  instant := clock_timestamp();
  utc_day := (instant AT TIME ZONE 'UTC')::date;
  IF mine.day < utc_day THEN
    mine.refreshes := 0;
  END IF;
  IF total.day < utc_day THEN
    total := (utc_day, 0, 0);
  END IF;
  mine.last_minute := ARRAY(SELECT t FROM unnest(mine.last_minute) AS t WHERE t > instant - interval '1 minute' ORDER BY t);
  refused := CASE
    WHEN mine.refreshes >= account_day THEN 'account-day'
    WHEN cardinality(mine.last_minute) >= account_minute THEN 'account-minute'
    WHEN total.refreshes >= all_day THEN 'all-day'
    WHEN total.free_refreshes >= free_day THEN 'free-day' END;
  today := total.refreshes;
  IF refused = 'account-minute' THEN
    room_at := mine.last_minute[1] + interval '1 minute';
  ELSIF refused IS NOT NULL THEN
    room_at := (utc_day + 1)::timestamp AT TIME ZONE 'UTC';
  ELSE
    today := today + 1;
    UPDATE account_refreshes SET day = utc_day, refreshes = mine.refreshes + 1,
      last_minute = CASE WHEN account_minute IS NULL THEN '{}' ELSE mine.last_minute || instant END
    WHERE account_id = account;
    UPDATE day_refreshes SET day = utc_day, refreshes = today,
      free_refreshes = total.free_refreshes + is_free::integer;
  END IF;
END $$;
