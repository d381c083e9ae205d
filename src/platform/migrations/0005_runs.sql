-- The last run of each command that operators watch, for its metrics (src/platform/terminal/runs.ts).
CREATE TABLE command_runs (
  command text COLLATE "C" PRIMARY KEY, -- 'companies import', 'debts import tax', 'backup', …
  began_at timestamptz NOT NULL,
  milliseconds bigint, -- NULL: it has not ended, or was killed
  failed boolean NOT NULL DEFAULT false,
  succeeded_at timestamptz -- when the latest run that succeeded ended; NULL: none has
);
