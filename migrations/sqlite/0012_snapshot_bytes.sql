-- How large each deployment's snapshot is, for the bound on what one deployment and one account may cost. Null: not measured since this column is there.
-- description_bytes is what a description takes in a snapshot; null where the release before this migration wrote the row.
-- The index holds all that a snapshot and the rules of a new release need, so that nobody reads long descriptions to get at what is behind them.
-- The same file name stands in migrations/postgres; the texts are equal.

ALTER TABLE deployments ADD COLUMN snapshot_bytes BIGINT;

CREATE INDEX deployments_unmeasured ON deployments (id) WHERE (snapshot_bytes IS NULL);

ALTER TABLE releases ADD COLUMN description_bytes BIGINT;

-- Quotation marks, backslashes and line ends take two bytes.
UPDATE releases SET description_bytes = CASE WHEN description IS NULL THEN 0 ELSE
    OCTET_LENGTH(description) + 2
    + LENGTH(description) - LENGTH(REPLACE(description, '"', ''))
    + LENGTH(description) - LENGTH(REPLACE(description, '\', ''))
    + LENGTH(description) - LENGTH(REPLACE(description, '
', '')) END;

CREATE INDEX releases_in_short ON releases (deployment_id, label, app_version, package_hash, is_disabled, rollout, is_mandatory, blob_sha256, size, description_bytes, id);
