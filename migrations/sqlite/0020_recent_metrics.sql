-- Recent metrics: what the reports of a minute have changed, by deployment and counter. The minute is that of the reports' receipt, as the Unix time in
-- milliseconds at which it begins. The transaction that counts reports adds to these rows. They are kept for 48 hours.
-- The same file name stands in migrations/postgres; the texts are equal.

CREATE TABLE metric_minutes (
    deployment_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    minute BIGINT NOT NULL,
    place TEXT NOT NULL,
    active BIGINT NOT NULL,
    downloaded BIGINT NOT NULL,
    installed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, epoch, minute, place)
);

CREATE INDEX metric_minutes_by_time ON metric_minutes (minute);
