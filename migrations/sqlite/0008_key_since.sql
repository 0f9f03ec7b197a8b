-- Since when a deployment has its key, if another had it before; 0 if none had. Reports from before that time are the other one's.
-- The same file name stands in migrations/postgres; the texts are equal.

ALTER TABLE deployments ADD COLUMN key_since BIGINT NOT NULL DEFAULT 0;
