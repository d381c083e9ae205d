-- Ends the statement that charges a batch from allowances alone (src/credits/charge-batch.ts), with a code that only it has. The whole
-- statement is rolled back, and the service charges the batch again with all the rules.
CREATE FUNCTION raise_allowance_short() RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'U0001', MESSAGE = 'an account of this batch cannot pay from its allowance',
    HINT = 'This is no fault: the service charges the batch by another statement.';
END $$;
