-- Idempotency keys: which requests were answered, and how. A row is written in the transaction of the change that it answers for, so it exists if and
-- only if the change does. The answer is what the use case needs to give it again, as JSON; it is null only inside that transaction. The fingerprint
-- tells whether a request with the same key is the same request.
-- The same file name stands in migrations/postgres; the texts are equal.

CREATE TABLE idempotency_keys (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer TEXT,
    expires BIGINT NOT NULL,
    PRIMARY KEY (account_id, key)
);

CREATE INDEX idempotency_keys_by_time ON idempotency_keys (expires);
