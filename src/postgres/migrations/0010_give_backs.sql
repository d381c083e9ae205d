-- What giving credits back goes by (src/credits/refund.ts).

-- Purchased credits among `used`, of the same period: calls that are given back are the last that were paid, whoever's
-- they were, and so purchased credits come back first.
ALTER TABLE balances ADD COLUMN used_purchased bigint NOT NULL DEFAULT 0;

-- Each give-back has an id, so that one whose answer got lost can be repeated. Kept as long as that may be.
CREATE TABLE give_backs (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);
