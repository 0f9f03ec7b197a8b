-- Daily history of binary versions: the active devices of each at the end of the day, as JSON: {"1.2.0":5,"other":2}. At most 50 versions; "other" has the
-- rest. Null: the day was stored without them, before this migration or by a replica of the release before it.
-- The same file name stands in migrations/postgres; the texts are equal.

ALTER TABLE metric_days ADD COLUMN binaries TEXT;
