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
) WITH (fillfactor = 50); -- A changed bracket has room beside the old one, so its index stays (HOT): an import where all changed takes half the time.

-- Changes between two datasets of a kind, for POST /debts/changes (src/companies/debts/changes).

-- The number that the clock gives to a change, microseconds since 1970. To write a change takes longer than one, so numbers stay
-- behind the clock. An import into a restored database gets numbers beyond all that a lost one has given: no cursor stands for
-- other changes. Below 2^53 until the year 2255.
CREATE FUNCTION change_number_now() RETURNS bigint VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- One row. An import holds it from before it takes its first number until the commit. So numbers become visible in their order,
-- and a reader that goes on from a number misses nothing.
CREATE TABLE debt_change_numbers (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  last bigint NOT NULL, -- of the latest change that was written
  purged bigint NOT NULL -- changes up to this number are removed
);
INSERT INTO debt_change_numbers (last, purged) VALUES (0, 0);

CREATE TABLE debt_changes (
  kind text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  nif text COLLATE "C" NOT NULL,
  before_start bigint, -- NULL: the company was not in the dataset before
  before_end bigint, -- NULL: open-ended
  after_start bigint, -- NULL: it is no longer in the dataset
  after_end bigint,
  dataset_date date NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (kind, number)
);
CREATE INDEX debt_changes_by_nif ON debt_changes (nif, number);

-- Their changes are not written (docs/data-protection.md).
CREATE FUNCTION is_natural_person(nif text) RETURNS boolean IMMUTABLE
RETURN nif COLLATE "C" BETWEEN '1' AND '4' OR nif COLLATE "C" BETWEEN '45' AND '46';

-- Replaces the dataset of a kind by the rows of the session's temporary table `staging`, and writes the changes. It is one
-- statement, so that a lost connection can't leave half of it. Two imports take turns by the row of numbers. Rows
-- that are the same stay as they are.
CREATE FUNCTION replace_debts(replaced_kind text, new_date date, actor text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  latest bigint;
  locked_at timestamptz;
  is_first boolean;
  written bigint;
  stored bigint;
BEGIN
  SELECT greatest(last, change_number_now()) INTO latest FROM debt_change_numbers FOR UPDATE;
  locked_at := clock_timestamp();
  SELECT count(*) INTO stored FROM pg_temp.staging;
  INSERT INTO debt_datasets (kind, dataset_date, rows, imported_by) VALUES (replaced_kind, new_date, stored, actor)
    ON CONFLICT (kind) DO UPDATE SET dataset_date = new_date, rows = stored, imported_at = now(), imported_by = actor
    RETURNING old.kind IS NULL INTO is_first;
  WITH merged AS (
    MERGE INTO debts USING (SELECT replaced_kind AS kind, nif, start_amount, end_amount FROM pg_temp.staging) AS staged
      ON debts.kind = staged.kind AND debts.nif = staged.nif
    WHEN MATCHED AND (debts.start_amount, debts.end_amount) IS DISTINCT FROM (staged.start_amount, staged.end_amount) THEN
      UPDATE SET start_amount = staged.start_amount, end_amount = staged.end_amount
    WHEN NOT MATCHED BY SOURCE AND debts.kind = replaced_kind THEN DELETE
    WHEN NOT MATCHED THEN INSERT (kind, nif, start_amount, end_amount)
      VALUES (staged.kind, staged.nif, staged.start_amount, staged.end_amount)
    RETURNING debts.nif, old.start_amount AS before_start, old.end_amount AS before_end,
      new.start_amount AS after_start, new.end_amount AS after_end
  )
  INSERT INTO debt_changes
    (kind, number, nif, before_start, before_end, after_start, after_end, dataset_date, at)
  SELECT replaced_kind, latest + row_number() OVER (ORDER BY nif), nif, before_start, before_end, after_start, after_end,
    new_date, locked_at
  FROM merged
  WHERE NOT is_first AND NOT is_natural_person(nif);
  GET DIAGNOSTICS written = ROW_COUNT;
  UPDATE debt_change_numbers SET last = latest + written WHERE written > 0;
  RETURN stored;
END $$;
