-- Daily history: what the counters must remember so that a day can be closed long after its end, and the days.
-- Days are numbers of UTC days since 1970. A counter's day is that of its last change, first_day that of its first. before_ are its values at the end
-- of open_day, once it has changed after that; before that, they mean nothing. Rows from before this file are of day 0.

ALTER TABLE metric_counters ADD COLUMN first_day BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_counters ADD COLUMN day BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_counters ADD COLUMN open_day BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_counters ADD COLUMN before_active BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_counters ADD COLUMN before_downloaded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_counters ADD COLUMN before_installed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_counters ADD COLUMN before_failed BIGINT NOT NULL DEFAULT 0;

-- One row per deployment and UTC day on which the job has run. The newest of a counting epoch is open, those before are closed and never change.
-- labels is JSON: {"v1":[active,downloaded,installed,failed]}. first_day is that of the epoch's first row, which retention may have taken away.
CREATE TABLE metric_days (
    deployment_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    day BIGINT NOT NULL,
    first_day BIGINT NOT NULL,
    labels TEXT NOT NULL,
    is_closed BOOLEAN NOT NULL,
    PRIMARY KEY (deployment_id, epoch, day)
);
