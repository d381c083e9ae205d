-- Why an answer was its problem, where the kind leaves that open: a name of `REASONS` (src/http/problems.ts), in the order of `rows`.
-- NULL: none of the part has one. The type `activity_row` stays, because 0.1.0 casts to it.
ALTER TABLE activity_parts ADD COLUMN reasons text[];

CREATE OR REPLACE VIEW activity AS
SELECT account_id, last, first + position - 1 AS number, kind,
  at, call_id, request_id, key_id, endpoint, status, problem, credits, unlisted, reasons[position] AS reason
FROM activity_parts, unnest(rows) WITH ORDINALITY AS of_part
  (at, call_id, request_id, key_id, endpoint, status, problem, credits, unlisted, position);
