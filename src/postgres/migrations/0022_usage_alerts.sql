-- Mails when 80% and 100% of the allowance are used (src/dashboard/usage-alerts.ts).
ALTER TABLE dashboard_members
  ADD COLUMN usage_alerts boolean NOT NULL DEFAULT true, -- whether the member wants them
  ADD COLUMN language text; -- of the member's latest visit; NULL: none since this version

-- The latest period that a member got each mail for. period_opened_at is that of balances: it changes with each period.
CREATE TABLE dashboard_usage_alerts (
  user_id text NOT NULL REFERENCES dashboard_users ("id") ON DELETE CASCADE,
  percent integer NOT NULL,
  period_opened_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, percent)
);
