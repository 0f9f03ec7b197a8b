-- One outbox for every kind of work that follows a commit: one row per kind and key, as long as there is something to be done. What the key does not say
-- is in the payload; a mail's is encrypted. A row is worked on by the owner of its lease; after failures it waits, and attempts counts them.
-- Until unsettled_until, work that nobody saw end may still take effect; a snapshot is settled only by a write that begins later.
-- The release before this one goes on with mail_outbox and snapshot_outbox while its processes are being replaced. So the program, not this file, moves
-- what stands there, at each start and every minute: it knows the time, and thus which leases have run out.
-- The same file name stands in migrations/sqlite; only BLOB/BYTEA differs.

CREATE TABLE outbox (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload BYTEA,
    created_time BIGINT NOT NULL,
    next_attempt_time BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT NOT NULL,
    unsettled_until BIGINT NOT NULL,
    PRIMARY KEY (kind, key)
);

CREATE INDEX outbox_due ON outbox (kind, next_attempt_time);
