-- SHA-256 of what was imported, 64 hexadecimal digits, so that a customer can say which list an answer is from. `file` is the bytes as they
-- were read, `rows` what an export of the rows writes. 0.1.0 imports without them: the file is that of the import at `file_at` alone,
-- and so are the rows of debts, which change in place.
ALTER TABLE debt_datasets ADD COLUMN file_sha256 text, ADD COLUMN file_bytes bigint, ADD COLUMN rows_sha256 text,
  ADD COLUMN file_at timestamptz;
ALTER TABLE directory_generations ADD COLUMN file_sha256 text, ADD COLUMN file_bytes bigint, ADD COLUMN rows_sha256 text,
  ADD COLUMN file_at timestamptz;
