-- Requests with an Idempotency-Key (src/metering/credits/claim.ts): one sending of a request is live at a time, and the charge of a
-- sending has its id. They take the place of the columns of call_journal that counted sendings, which a release before 0.2.0 writes.

CREATE TABLE keyed_requests (
  id uuid PRIMARY KEY, -- made from the request
  sending uuid, -- the live one; NULL: it has ended
  live_until timestamptz NOT NULL, -- when the claim of the sending ends by itself
  kept bigint NOT NULL DEFAULT 0, -- credits that a sending was charged and has kept; 0: none
  kept_at timestamptz,
  short_of text, -- 'account' or 'key': which had fewer credits than the request needs; NULL: none, or not known
  key_id text -- that was charged
);
-- Rows go once no sending can find them (src/metering/credits/rollup.ts).
CREATE INDEX keyed_requests_by_end ON keyed_requests (live_until);

CREATE TYPE request_claim AS (
  is_ours boolean,
  wait_s integer, -- until the claim of the live sending ends by itself; NULL for our own
  kept bigint,
  short_of text,
  key_id text
);

-- Claims a request for a sending, unless another one is live. A sending whose claim has ended by itself was either charged, which its row of
-- the journal shows, or it never will be: a row with its id makes a charge that comes later fail. Each statement sees what was committed
-- while the one before waited. Idempotent.
CREATE FUNCTION claim_request(request uuid, its_sending uuid, live interval, window_of_repeats interval)
RETURNS request_claim LANGUAGE plpgsql AS $$
DECLARE
  known keyed_requests;
  paid call_journal;
  instant timestamptz;
BEGIN
  INSERT INTO keyed_requests (id, sending, live_until) VALUES (request, its_sending, clock_timestamp() + live) ON CONFLICT (id) DO NOTHING;
  IF FOUND THEN
    -- Until 0.3.0: a release before 0.2.0 may have charged it.
    SELECT * INTO paid FROM call_journal j WHERE j.request = claim_request.request;
  END IF;
  SELECT * INTO known FROM keyed_requests WHERE id = request FOR UPDATE;
  instant := clock_timestamp();
  IF known.sending <> its_sending AND instant < known.live_until THEN
    RETURN (false, greatest(ceil(extract(epoch FROM known.live_until - instant)), 1), 0, NULL, NULL)::request_claim;
  END IF;
  IF known.sending <> its_sending THEN
    INSERT INTO call_journal (attempt, at, account_ids, key_ids, kinds, calls, counted, owed)
    VALUES (known.sending, now(), '{}', '{}', '{}', '{}', true, true) ON CONFLICT (attempt) DO NOTHING;
    IF NOT FOUND THEN
      SELECT * INTO paid FROM call_journal WHERE attempt = known.sending AND NOT owed;
    END IF;
  END IF;
  IF paid.attempt IS NOT NULL THEN
    known.kept := coalesce(paid.charged, paid.calls[1]);
    known.kept_at := paid.spent_at;
    known.short_of := paid.short_of;
    known.key_id := paid.key_ids[1];
  END IF;
  IF known.kept_at < instant - window_of_repeats THEN
    known.kept := 0;
  END IF;
  UPDATE keyed_requests SET sending = its_sending, live_until = instant + live, kept = known.kept, kept_at = known.kept_at,
    short_of = known.short_of, key_id = known.key_id
  WHERE id = request;
  RETURN (true, NULL, known.kept, known.short_of, known.key_id)::request_claim;
END $$;
