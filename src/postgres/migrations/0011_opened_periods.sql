-- What giving credits back goes by (src/credits/refund.ts): whether they were spent in the period that is counted now. Both are
-- Postgres's clock under the lock of the account's row. When a call counts at, and when a period begins, don't tell: a
-- subscription can be renewed from an instant that has passed, and a call can wait while its account's period changes.
ALTER TABLE balances ADD COLUMN period_opened_at timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE balances ALTER COLUMN period_opened_at SET DEFAULT clock_timestamp();
ALTER TABLE call_journal ADD COLUMN spent_at timestamptz NOT NULL DEFAULT clock_timestamp();
ALTER TABLE moved_calls ADD COLUMN spent_at timestamptz NOT NULL DEFAULT clock_timestamp();
