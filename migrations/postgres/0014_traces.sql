-- Failures leave traces: what is counted to be summed up, browsers that an account was signed in to with, networks that it was signed in from, and
-- failed second factors in a row.
-- The same file name stands in migrations/sqlite; the texts are equal.

-- Failed second factors since the last success; 100 stop codes until a password reset or the operator. Then they are not counted any further.
ALTER TABLE accounts ADD COLUMN failed_factors BIGINT NOT NULL DEFAULT 0;

-- Whether the account was ever signed in to since sign_in_networks is there: the first sign-in is nobody's news.
ALTER TABLE accounts ADD COLUMN has_networks BOOLEAN NOT NULL DEFAULT FALSE;

-- Whether the first step of the login came with a device cookie of the account.
ALTER TABLE pending_logins ADD COLUMN has_device BOOLEAN NOT NULL DEFAULT FALSE;

-- What of one kind an account had too much of, until it is summed up at the time due: failures after the first of a minute, notices after the 20th of an
-- hour. No row refers to an account, since its audit trail outlives it.
CREATE TABLE tallies (
    kind TEXT NOT NULL,
    account_id TEXT NOT NULL,
    since BIGINT NOT NULL,
    count BIGINT NOT NULL,
    due BIGINT NOT NULL,
    PRIMARY KEY (kind, account_id)
);

CREATE INDEX tallies_by_due ON tallies (due);

-- Browsers that an account was signed in to with: the hash of a token that the browser keeps in a cookie.
CREATE TABLE device_cookies (
    token_hash TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    created_time BIGINT NOT NULL,
    last_used_time BIGINT NOT NULL
);

CREATE INDEX device_cookies_by_account ON device_cookies (account_id, created_time);
CREATE INDEX device_cookies_by_time ON device_cookies (created_time);

-- From which networks (IPv4 /24, IPv6 /48) an account was signed in to, and when it last was.
CREATE TABLE sign_in_networks (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    network TEXT NOT NULL,
    last_time BIGINT NOT NULL,
    PRIMARY KEY (account_id, network)
);

CREATE INDEX sign_in_networks_by_time ON sign_in_networks (last_time);
