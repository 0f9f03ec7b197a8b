-- API keys, and the audit trail of every change.
-- The same file name stands in migrations/postgres; the texts are equal.

-- key_prefix is the public half, by which a key is looked up; of the secret half only a hash is kept. scopes: a JSON list.
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    key_prefix TEXT NOT NULL UNIQUE,
    key_hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_time BIGINT,
    revoked_time BIGINT,
    last_used_time BIGINT,
    created_time BIGINT NOT NULL,
    updated_time BIGINT NOT NULL
);

CREATE INDEX api_keys_by_account ON api_keys (account_id, created_time);

-- The end of the trail's chain: one row, whose lock makes whoever adds to the trail wait for the one before.
CREATE TABLE audit_head (
    id BIGINT PRIMARY KEY,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL
);

INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, '');

-- What happened, in order. hash is SHA-256 over the row before and this one. Rows outlive accounts and apps, so nothing refers to those.
CREATE TABLE audit_events (
    seq BIGINT PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    time BIGINT NOT NULL,
    account_id TEXT,
    credential_id TEXT,
    credential_kind TEXT NOT NULL,
    client_address TEXT,
    action TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_id TEXT NOT NULL,
    app_id TEXT,
    details TEXT NOT NULL,
    hash TEXT NOT NULL
);

CREATE INDEX audit_events_by_app ON audit_events (app_id, seq);
