-- When a generation's rows were loaded, by whom, and from what file. A rebuild carries these on to its own generation.
-- The version before leaves them empty: readers then take `created_at` and `created_by`.
ALTER TABLE directory_generations
  ADD COLUMN loaded_at timestamptz,
  ADD COLUMN loaded_by text,
  ADD COLUMN loaded_file text; -- its name without folders; '-': standard input; NULL: not known
UPDATE directory_generations SET loaded_at = created_at, loaded_by = created_by WHERE rows > 0;

-- How far the holder of the lock is, in words, and when it said so.
ALTER TABLE directory ADD COLUMN lock_progress text, ADD COLUMN lock_progress_at timestamptz;
