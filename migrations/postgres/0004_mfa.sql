-- Second factors: authenticator apps, passkeys, recovery codes, logins that wait for one of them, challenges for passkeys.
-- The same file name stands in migrations/sqlite; only BLOB/BYTEA differs.

-- A confirmed authenticator app: one per account. sealed: the seed. last_step: the newest 30-second step whose code was taken; no step up to it is taken again.
CREATE TABLE authenticators (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    sealed BYTEA NOT NULL,
    last_step BIGINT NOT NULL,
    created_time BIGINT NOT NULL
);

-- A seed that was shown and not confirmed yet, beside the confirmed one.
CREATE TABLE authenticator_setups (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    sealed BYTEA NOT NULL,
    expires BIGINT NOT NULL
);

CREATE INDEX authenticator_setups_by_expiry ON authenticator_setups (expires);

-- What the hashes of an account's recovery codes are keyed with, sealed: so they outlive the encryption key that they were made under.
CREATE TABLE recovery_keys (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    sealed BYTEA NOT NULL,
    created_time BIGINT NOT NULL
);

CREATE TABLE recovery_codes (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    code_hash TEXT NOT NULL,
    PRIMARY KEY (account_id, code_hash)
);

-- credential_id: base64url. credential: JSON, as the WebAuthn library keeps it; the columns beside it repeat what queries and answers need.
-- transports: a JSON list.
CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    credential_id TEXT NOT NULL UNIQUE,
    credential TEXT NOT NULL,
    name TEXT NOT NULL,
    is_backup_eligible BOOLEAN NOT NULL,
    is_backed_up BOOLEAN NOT NULL,
    transports TEXT NOT NULL,
    counter BIGINT NOT NULL,
    created_time BIGINT NOT NULL,
    last_used_time BIGINT NOT NULL
);

CREATE INDEX passkeys_by_account ON passkeys (account_id, created_time);

-- Logins whose password was right and that wait for a second factor. attempts: how many were made and failed.
CREATE TABLE pending_logins (
    id TEXT PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    attempts BIGINT NOT NULL,
    created_time BIGINT NOT NULL,
    expires BIGINT NOT NULL
);

CREATE INDEX pending_logins_by_account ON pending_logins (account_id, created_time);
CREATE INDEX pending_logins_by_expiry ON pending_logins (expires);

-- Open challenges for passkeys. A new one of the same purpose for the same session or pending login takes the place of the older; those for signing in
-- without a password belong to nobody yet. sealed: what the WebAuthn library keeps of it.
CREATE TABLE passkey_challenges (
    id TEXT PRIMARY KEY,
    purpose TEXT NOT NULL,
    account_id TEXT REFERENCES accounts (id) ON DELETE CASCADE,
    session_id TEXT REFERENCES access_keys (id) ON DELETE CASCADE,
    pending_login_id TEXT REFERENCES pending_logins (id) ON DELETE CASCADE,
    sealed BYTEA NOT NULL,
    expires BIGINT NOT NULL,
    UNIQUE (purpose, session_id),
    UNIQUE (purpose, pending_login_id)
);

CREATE INDEX passkey_challenges_by_account ON passkey_challenges (account_id);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires);
