-- How command lines are let in: their requests, from the start to the exchange for a credential.
-- The same file name stands in migrations/postgres; the texts are equal.

-- For this account every request that was made at this time or before is cancelled: the last time that its password was replaced.
ALTER TABLE accounts ADD COLUMN cli_cancelled_time BIGINT;

-- mode: pkce or device. status: pending, approved, consumed, denied, cancelled (by a new password or the end of the session) or ended (by a wrong
-- proof or a second use); that time has run out is not written down. Of codes only hashes are kept; user_code lets nobody in, it only finds the request. account_id and
-- session_id are those who decided: no references, since whoever exchanges must be told that they are gone.
CREATE TABLE cli_authorizations (
    id TEXT PRIMARY KEY,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    code_challenge TEXT,
    redirect_uri TEXT,
    state TEXT,
    code_hash TEXT UNIQUE,
    code_expires BIGINT,
    device_code_hash TEXT UNIQUE,
    user_code TEXT UNIQUE,
    poll_interval BIGINT NOT NULL,
    next_poll_time BIGINT NOT NULL,
    device_id TEXT,
    device_name TEXT,
    client_name TEXT,
    client_version TEXT,
    client_platform TEXT,
    created_by TEXT NOT NULL,
    created_time BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    account_id TEXT,
    session_id TEXT,
    credential_id TEXT
);

CREATE INDEX cli_authorizations_by_account ON cli_authorizations (account_id);
CREATE INDEX cli_authorizations_by_expiry ON cli_authorizations (expires);
