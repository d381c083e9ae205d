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
  PRIMARY KEY (nif, kind) -- a lookup asks for the debts of a company, of whatever kind
);

-- Replaces the dataset of a kind by the rows of the session's temporary table `staging`: one statement, so that a lost
-- connection can't leave half of it. Two of them take turns.
CREATE FUNCTION replace_debts(replaced_kind text, new_date date, actor text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  stored bigint;
BEGIN
  INSERT INTO debt_datasets (kind, dataset_date, rows, imported_by) VALUES (replaced_kind, new_date, 0, actor)
    ON CONFLICT (kind) DO UPDATE SET dataset_date = new_date, imported_at = now(), imported_by = actor;
  DELETE FROM debts WHERE kind = replaced_kind;
  INSERT INTO debts (kind, nif, start_amount, end_amount)
    SELECT replaced_kind, nif, start_amount, end_amount FROM pg_temp.staging ORDER BY nif;
  GET DIAGNOSTICS stored = ROW_COUNT;
  UPDATE debt_datasets SET rows = stored WHERE kind = replaced_kind;
  RETURN stored;
END $$;
