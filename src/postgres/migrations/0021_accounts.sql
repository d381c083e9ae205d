-- Whether calls beyond the allowance are paid with purchased credits. The statement that charges reads the row anyway.
ALTER TABLE balances ADD COLUMN spend_purchased boolean NOT NULL DEFAULT true;

-- A deleted account keeps its rows of the ledger, without names. It is suspended, too, so that the previous version refuses it.
ALTER TABLE accounts ADD COLUMN deleted_at timestamptz;
