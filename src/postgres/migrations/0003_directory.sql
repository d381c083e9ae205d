-- The directory of companies that searches go to.
--
-- Every import builds a whole new table, a generation, and makes it the current one in one short transaction. Readers
-- use the view, which always shows the current generation.

CREATE SEQUENCE directory_generation_ids START 2;

CREATE TABLE directory_generations (
  id integer PRIMARY KEY,
  table_name text NOT NULL, -- a rebuild can give a table another index: two generations then share it for a moment
  index_name text UNIQUE, -- the complete and checked Elasticsearch index of these rows; NULL: none
  index_fingerprint text, -- what the index was built by (mapping and normalization)
  rows bigint NOT NULL,
  normalization text, -- what computed normalized_name and sort_key; NULL: no rows, so nothing did
  origin text NOT NULL CHECK (origin IN ('empty', 'import', 'rebuild')),
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  retired_at timestamptz -- when it stopped being current; NULL: it hasn't been, or is
);

CREATE TABLE directory (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  id uuid NOT NULL DEFAULT gen_random_uuid(), -- part of what tells its indices from others' (generations.ts)
  current integer NOT NULL REFERENCES directory_generations (id),
  previous integer REFERENCES directory_generations (id), -- what `index rollback` returns to
  -- Who changes the directory now, for the message to whoever comes second. The advisory lock is what counts.
  lock_token uuid,
  lock_backend integer,
  lock_holder text,
  lock_doing text,
  lock_since timestamptz
);

CREATE TABLE directory_g000001 (
  nif text COLLATE "C" PRIMARY KEY,
  legal_name text NOT NULL,
  normalized_name text COLLATE "C" NOT NULL,
  sort_key text COLLATE "C" NOT NULL
);

INSERT INTO directory_generations (id, table_name, rows, origin, created_by)
VALUES (1, 'directory_g000001', 0, 'empty', 'migration');
INSERT INTO directory (current) VALUES (1);

CREATE VIEW directory_entries AS SELECT nif, legal_name, normalized_name, sort_key FROM directory_g000001;

-- Makes a registered generation the current one, for who holds the lock: one statement, so that a lost connection can't
-- leave half of it. Readers queue behind a waiting change of the view, so it doesn't wait long; callers try again.
CREATE FUNCTION directory_make_current(token uuid, backend integer, next integer, next_previous integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('lock_timeout', '250ms', true);
  PERFORM FROM directory WHERE lock_token = token AND pg_backend_pid() = backend FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the lock on the directory is not held any more' USING ERRCODE = 'CD001';
  END IF;
  UPDATE directory_generations SET retired_at = clock_timestamp() WHERE id = (SELECT current FROM directory);
  UPDATE directory_generations SET retired_at = NULL WHERE id = next;
  UPDATE directory SET current = next, previous = next_previous;
  EXECUTE format(
    'CREATE OR REPLACE VIEW directory_entries AS SELECT nif, legal_name, normalized_name, sort_key FROM %I',
    (SELECT table_name FROM directory_generations WHERE id = next));
END $$;
