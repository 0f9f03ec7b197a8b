-- How many bytes diffs have saved, by label: an estimate beside the exact counts. A counter's first downloads by devices that ran an earlier release add the
-- difference between the full size and that of the diff. What was downloaded before this file counts as 0.
-- The same file name stands in migrations/postgres; the texts are equal.

ALTER TABLE metric_counters ADD COLUMN bytes_saved BIGINT NOT NULL DEFAULT 0;
