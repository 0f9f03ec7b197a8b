-- Bundles that are being deleted, by the time of their mark, and what needs a diff: the deletion of unused bundles looks for both.
-- The same file name stands in migrations/postgres; the texts are equal.

CREATE INDEX blobs_deleting ON blobs (last_used_time) WHERE deleting;
CREATE INDEX release_diffs_by_blob ON release_diffs (blob_sha256);
