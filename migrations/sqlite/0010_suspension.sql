-- When the operator suspended an account: its credentials and logins are refused until it is reinstated. NULL: it is not suspended.
-- The same file name stands in migrations/postgres; the texts are equal.

ALTER TABLE accounts ADD COLUMN suspended_time BIGINT;
