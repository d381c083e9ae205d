-- Debt brackets as the tax authority and social security publish them, each kind a dataset that is replaced as a whole.

CREATE TABLE debt_datasets (
  kind text PRIMARY KEY CHECK (kind IN ('tax', 'social-security')),
  dataset_date date NOT NULL, -- `last_updated` of every bracket of its kind
  rows bigint NOT NULL,
  imported_at timestamptz NOT NULL DEFAULT now(),
  imported_by text NOT NULL
);

CREATE TABLE debts (
  kind text NOT NULL REFERENCES debt_datasets (kind),
  nif text COLLATE "C" NOT NULL,
  start_amount bigint NOT NULL CHECK (start_amount >= 0),
  end_amount bigint CHECK (end_amount >= start_amount), -- NULL: open-ended
  PRIMARY KEY (kind, nif)
);
