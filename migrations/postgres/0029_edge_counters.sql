-- What isolates of the edge, and the comparison with KV, found and did not trust: forged and altered snapshots and bundles, snapshots kept back. Each
-- row is one call, by isolate and number of the call, so that a call that is repeated counts once. Health is degraded for a while after the newest.
-- The same file name stands in migrations/sqlite; the texts are equal.

CREATE TABLE edge_counters (
    isolate TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    received_time BIGINT NOT NULL,
    distrusted BIGINT NOT NULL,
    old BIGINT NOT NULL,
    replayed BIGINT NOT NULL,
    altered_bundles BIGINT NOT NULL,
    PRIMARY KEY (isolate, sequence)
);

CREATE INDEX edge_counters_by_received_time ON edge_counters (received_time);
