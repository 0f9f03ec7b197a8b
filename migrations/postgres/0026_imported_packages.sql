-- Packages that an app's owner has sent for an import, until the history that they belong to is imported. After `expires`, what no release uses is deleted.
-- stamp and manifest_stamp are blobs.last_used_time when they were stored: a later use of the blobs has another one.
-- There is no reference to apps: deleting an app keeps its blobs, and these rows are how they are found.
-- The same file name stands in migrations/sqlite; the texts are equal.

CREATE TABLE imported_packages (
    app_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    package_hash TEXT NOT NULL,
    hash_with_directories TEXT,
    manifest_sha256 TEXT,
    size BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    manifest_stamp BIGINT,
    expires BIGINT NOT NULL,
    PRIMARY KEY (app_id, sha256)
);

CREATE INDEX imported_packages_by_expires ON imported_packages (expires);
