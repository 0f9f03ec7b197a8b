-- The first schema: accounts and their access keys, apps, deployments and their keys, releases, blobs, the snapshot outbox, counting.
-- Times are Unix milliseconds, ids are UUIDv7 text. The same file name stands in migrations/sqlite; only BLOB/BYTEA differs.

CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT,
    password_hash TEXT NOT NULL,
    email_verified BOOLEAN NOT NULL,
    max_upload_bytes BIGINT NOT NULL,
    created_time BIGINT NOT NULL
);

CREATE TABLE access_keys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    token_hash TEXT NOT NULL UNIQUE,
    friendly_name TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_time BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    last_used_time BIGINT,
    UNIQUE (account_id, friendly_name)
);

CREATE TABLE apps (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    created_time BIGINT NOT NULL,
    UNIQUE (owner_id, name)
);

-- The owner has a row too. access_time orders what a bare name means to an account: the longest-held access wins.
CREATE TABLE collaborators (
    app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    permission TEXT NOT NULL,
    access_time BIGINT NOT NULL,
    PRIMARY KEY (app_id, account_id)
);

CREATE INDEX collaborators_by_account ON collaborators (account_id);

-- last_label only grows, so that labels are never reused; counting_epoch makes older counters count as absent.
CREATE TABLE deployments (
    id TEXT PRIMARY KEY,
    app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    deployment_key TEXT NOT NULL UNIQUE,
    last_label BIGINT NOT NULL,
    counting_epoch BIGINT NOT NULL,
    created_time BIGINT NOT NULL,
    UNIQUE (app_id, name)
);

-- Every key that ever was: a key is never freed. deployment_id is null once the deployment is gone, then the key answers from a tombstone.
-- snapshot_version belongs to the key, so that it survives re-creation of the deployment.
-- snapshot_written_time is when KV last took one: KV refuses a second write of a key within a second.
CREATE TABLE deployment_keys (
    deployment_key TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    app_id TEXT NOT NULL,
    deployment_id TEXT,
    last_deployment_id TEXT NOT NULL,
    snapshot_version BIGINT NOT NULL,
    snapshot_written_time BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE blobs (
    app_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    last_used_time BIGINT NOT NULL,
    deleting BOOLEAN NOT NULL,
    PRIMARY KEY (app_id, sha256)
);

CREATE TABLE releases (
    id TEXT PRIMARY KEY,
    deployment_id TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    app_id TEXT NOT NULL,
    label BIGINT NOT NULL,
    app_version TEXT NOT NULL,
    description TEXT,
    is_mandatory BOOLEAN NOT NULL,
    is_disabled BOOLEAN NOT NULL,
    rollout BIGINT,
    package_hash TEXT NOT NULL,
    blob_sha256 TEXT NOT NULL,
    manifest_sha256 TEXT,
    size BIGINT NOT NULL,
    release_method TEXT NOT NULL,
    original_label BIGINT,
    original_deployment TEXT,
    released_by TEXT NOT NULL,
    upload_time BIGINT NOT NULL,
    UNIQUE (deployment_id, label)
);

CREATE INDEX releases_by_blob ON releases (app_id, blob_sha256);
CREATE INDEX releases_by_manifest ON releases (app_id, manifest_sha256);

CREATE TABLE release_diffs (
    release_id TEXT NOT NULL REFERENCES releases (id) ON DELETE CASCADE,
    source_hash TEXT NOT NULL,
    blob_sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (release_id, source_hash)
);

-- One row per key that KV may not have in its newest version; a later change updates the row and keeps its age.
-- Until unsettled_until a write whose sender lost track of it may still reach KV; only one that begins later closes the row.
CREATE TABLE snapshot_outbox (
    deployment_key TEXT PRIMARY KEY REFERENCES deployment_keys (deployment_key),
    created_time BIGINT NOT NULL,
    next_attempt_time BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT NOT NULL,
    unsettled_until BIGINT NOT NULL
);

CREATE INDEX snapshot_outbox_due ON snapshot_outbox (next_attempt_time);

-- One row per app and device: where it is (place), since which report, and which labels it has reported what of (flags, JSON).
CREATE TABLE report_clients (
    app_id TEXT NOT NULL,
    client BYTEA NOT NULL,
    deployment_id TEXT,
    epoch BIGINT NOT NULL,
    place TEXT,
    place_time BIGINT NOT NULL,
    place_report TEXT NOT NULL,
    flags TEXT NOT NULL,
    PRIMARY KEY (app_id, client)
);

-- Reports without a client id are counted once by their own id, which is kept for 15 days.
CREATE TABLE report_ids (
    id TEXT PRIMARY KEY,
    received_time BIGINT NOT NULL
);

CREATE INDEX report_ids_by_time ON report_ids (received_time);

CREATE TABLE metric_counters (
    deployment_id TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    place TEXT NOT NULL,
    active BIGINT NOT NULL,
    downloaded BIGINT NOT NULL,
    installed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    PRIMARY KEY (deployment_id, epoch, place)
);

-- Values that say whether this database belongs to the secrets the process was given.
CREATE TABLE secret_checks (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
