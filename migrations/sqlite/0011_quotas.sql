-- Keys of deleted deployments are counted by account.
-- The same file name stands in migrations/postgres; the texts are equal.

CREATE INDEX deployment_keys_kept ON deployment_keys (account_id) WHERE (deployment_id IS NULL);
