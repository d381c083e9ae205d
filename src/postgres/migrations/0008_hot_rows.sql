-- What a request reads and writes, as it is quickest to read and write.
-- No version was released before this one: none has to go on with the columns that are dropped.

-- Details are answered as they stand: one JSON text, and not a column each that is taken apart and put together again
-- for every lookup. json_strip_nulls: there are none; it leaves out the spaces that json_build_object writes.
ALTER TABLE companies
  ALTER COLUMN nif TYPE text COLLATE "C",
  ALTER COLUMN title TYPE json USING json_strip_nulls(json_build_object(
    'title', title, 'address', address, 'zipcode', zipcode, 'city', city, 'activity', activity, 'status', status,
    'cae', cae, 'structure', json_build_object(
      'nature', nature, 'capital', capital, 'capital_currency', capital_currency)));
ALTER TABLE companies RENAME COLUMN title TO details;
ALTER TABLE companies
  DROP COLUMN address, DROP COLUMN zipcode, DROP COLUMN city, DROP COLUMN activity, DROP COLUMN status, DROP COLUMN cae,
  DROP COLUMN nature, DROP COLUMN capital, DROP COLUMN capital_currency;

-- A lookup asks for the debts of a company, of whatever kind.
ALTER TABLE debts DROP CONSTRAINT debts_pkey, ADD PRIMARY KEY (nif, kind);

-- Ids are compared byte by byte: the database's collation takes several times as long, and means nothing for them.
ALTER TABLE balances ALTER COLUMN account_id TYPE text COLLATE "C";

-- Rows live a few seconds: packing the larger ones takes longer than writing them.
ALTER TABLE call_journal SET (toast_tuple_target = 8160);
