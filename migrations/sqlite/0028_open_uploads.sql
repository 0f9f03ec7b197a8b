-- Uploads in parts to a bucket that have begun. The row is there before the first part, and goes when the object is complete or the parts are deleted: parts
-- cost money, and nothing else knows of them.
-- There is no reference to apps: deleting an app must not hide its parts.
-- The same file name stands in migrations/postgres; the texts are equal.

CREATE TABLE open_uploads (
    app_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    upload_id TEXT NOT NULL,
    started_time BIGINT NOT NULL,
    PRIMARY KEY (app_id, sha256, upload_id)
);

CREATE INDEX open_uploads_by_started_time ON open_uploads (started_time);
