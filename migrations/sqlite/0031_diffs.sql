-- Diffs between two packages of an app: made once, and shared by all releases whose bundles are these, byte for byte. A row without a blob says why there is
-- none. target_hash is the package hash of the release: devices verify it after the diff, and it can be corrected. times counts how often it was made: two processes do not make the same one.
-- What release_diffs refers to is offered to devices. A row here goes some time after its blob, or one of its packages.
-- Bytes of diffs do not count against an account's quota.
-- The same file name stands in migrations/postgres; the texts are equal.

CREATE TABLE package_diffs (
    app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    target_sha256 TEXT NOT NULL,
    target_hash TEXT NOT NULL,
    base_sha256 TEXT NOT NULL,
    blob_sha256 TEXT,
    size BIGINT NOT NULL,
    problem TEXT,
    made_time BIGINT NOT NULL,
    times BIGINT NOT NULL,
    PRIMARY KEY (app_id, target_sha256, target_hash, base_sha256)
);

ALTER TABLE blobs ADD COLUMN is_diff BOOLEAN NOT NULL DEFAULT FALSE;

CREATE INDEX blobs_counted ON blobs (account_id, is_diff, size);
