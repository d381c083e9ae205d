-- How many refreshes of company records an account has caused on its latest day (UTC): one row an account, because
-- earlier days count for nothing.
CREATE TABLE account_refreshes (
  account_id text PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  day date NOT NULL,
  refreshes integer NOT NULL
);
