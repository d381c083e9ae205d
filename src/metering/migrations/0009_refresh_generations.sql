-- The refresh tokens that were issued for one, and for its siblings: two clients that go on with one each have the same token, so that the
-- generation is used as one token is. NULL: alone.
ALTER TABLE connection_refresh_tokens ADD COLUMN generation bytea;
CREATE INDEX connection_refresh_tokens_by_generation ON connection_refresh_tokens (generation)
WHERE generation IS NOT NULL;
