-- The first update check of a deployment that this control plane answered itself while somebody looked at the deployment's first steps; NULL if there was
-- none. Checks that the edge answers do not show here.
-- The same file name stands in migrations/sqlite; the texts are equal.

ALTER TABLE deployments ADD COLUMN first_check_time BIGINT;
