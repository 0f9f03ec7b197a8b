-- The active devices of all labels of a day, which the list of apps shows for up to 300 deployments: labels can be tens of kilobytes a day, so they are added
-- up when the day is stored. Null: stored by an earlier release. The job fills it in for the open day; the others are not shown.
-- The index has everything that the list reads.
-- The same file name stands in migrations/postgres; the texts are equal.

ALTER TABLE metric_days ADD COLUMN active BIGINT;

CREATE INDEX metric_days_by_active ON metric_days (deployment_id, epoch, day, active);
