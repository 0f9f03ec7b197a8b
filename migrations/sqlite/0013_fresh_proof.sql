-- When the owner of a dashboard session last showed the password or a second factor again. NULL: not since the login.
-- The same file name stands in migrations/postgres; the texts are equal.

ALTER TABLE access_keys ADD COLUMN reauthenticated_time BIGINT;
