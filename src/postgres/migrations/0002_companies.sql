-- Company records as the sources gave them, and the refreshes that are under way.

CREATE TABLE companies (
  nif text PRIMARY KEY CHECK (nif ~ '^[0-9]{9}$'),
  title text NOT NULL,
  address text NOT NULL,
  zipcode text NOT NULL,
  city text NOT NULL,
  activity text NOT NULL,
  status text NOT NULL,
  cae text NOT NULL,
  nature text NOT NULL,
  capital text NOT NULL,
  capital_currency text NOT NULL,
  source text NOT NULL,
  fetched_at timestamptz NOT NULL
);

-- One refresh at a time for a NIF over all instances; those who wait for it read its outcome here. A row outlives
-- its refresh by a minute.
CREATE TABLE company_refreshes (
  nif text PRIMARY KEY,
  attempt uuid NOT NULL,
  expires_at timestamptz NOT NULL, -- an attempt whose process died is given up then
  outcome text CHECK (outcome IN ('found', 'not-found', 'failed')) -- NULL: still under way
);
