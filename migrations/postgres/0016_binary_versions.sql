-- The binary version of a device that is counted as 'other' because the deployment's places for binary versions were taken when it reported; null of every
-- other device, and of those that reported before this migration. The hourly job that gives places to the versions with the most devices counts these.
-- The same file name stands in migrations/sqlite; the texts are equal.

ALTER TABLE report_clients ADD COLUMN binary_version TEXT;

CREATE INDEX report_clients_by_version ON report_clients (deployment_id, epoch, binary_version, client) WHERE (binary_version IS NOT NULL);
