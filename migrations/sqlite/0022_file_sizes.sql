-- What a release's page shows of its package: the uncompressed size of each file, a JSON list in the order of the manifest. Null: not read yet, or a blob
-- that is no bundle of several files. An upload stores it; of older bundles it is read from the archive's directory when it is first asked for.
-- The index finds what was done with one release.
-- The same file name stands in migrations/postgres; the texts are equal.

ALTER TABLE blobs ADD COLUMN file_sizes TEXT;

CREATE INDEX audit_events_by_object ON audit_events (object_id, seq);
