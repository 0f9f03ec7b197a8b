-- Accounts by registration: what waits for its e-mail, password resets, sessions beside named keys, limits on strangers, mails to be sent.
-- The same file name stands in migrations/sqlite; only BLOB/BYTEA differs.

ALTER TABLE accounts ADD COLUMN max_api_keys BIGINT NOT NULL DEFAULT 25;
ALTER TABLE accounts ADD COLUMN retention_days BIGINT NOT NULL DEFAULT 90;
-- Fixed by the first login without a second factor.
ALTER TABLE accounts ADD COLUMN mfa_setup_deadline BIGINT;

-- A row is a named key (neither a session nor of an origin), a dashboard session, a command line's credential, or a session older than
-- origins (is_session without one). A dashboard session also ends by lying idle.
ALTER TABLE access_keys ADD COLUMN is_session BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE access_keys ADD COLUMN credential_origin TEXT;
ALTER TABLE access_keys ADD COLUMN description TEXT;
ALTER TABLE access_keys ADD COLUMN device_id TEXT;
ALTER TABLE access_keys ADD COLUMN device_name TEXT;
ALTER TABLE access_keys ADD COLUMN client_name TEXT;
ALTER TABLE access_keys ADD COLUMN client_version TEXT;
ALTER TABLE access_keys ADD COLUMN client_platform TEXT;

CREATE INDEX access_keys_by_expiry ON access_keys (expires);

-- Not an account yet: several may wait for the same address, and the one whose token is shown becomes the account.
CREATE TABLE registrations (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT,
    password_hash TEXT NOT NULL,
    created_by TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    token_expires BIGINT NOT NULL,
    created_time BIGINT NOT NULL
);

CREATE INDEX registrations_by_email ON registrations (email, created_time);
CREATE INDEX registrations_by_time ON registrations (created_time);

CREATE TABLE password_resets (
    token_hash TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires BIGINT NOT NULL
);

CREATE INDEX password_resets_by_account ON password_resets (account_id);
CREATE INDEX password_resets_by_expiry ON password_resets (expires);

-- When what a limit counts happened (JSON list of times), by limit and subject: a client address, or the hash of a submitted e-mail address.
-- One row, so that two at once are serial on both databases.
CREATE TABLE limit_counts (
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    times TEXT NOT NULL,
    forget_time BIGINT NOT NULL,
    PRIMARY KEY (name, subject)
);

CREATE INDEX limit_counts_by_time ON limit_counts (forget_time);

-- Mails that were decided on and not sent yet; what they say is encrypted, since some carry a token. A mail that was sent leaves no row.
CREATE TABLE mail_outbox (
    id TEXT PRIMARY KEY,
    sealed BYTEA NOT NULL,
    created_time BIGINT NOT NULL,
    next_attempt_time BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT NOT NULL
);

CREATE INDEX mail_outbox_due ON mail_outbox (next_attempt_time);
