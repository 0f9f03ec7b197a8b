-- What the other server said about a release when it was imported last, as JSON: what differs from it here was changed here since.
-- The same file name stands in migrations/postgres; the texts are equal.

CREATE TABLE imported_releases (
    release_id TEXT PRIMARY KEY REFERENCES releases (id) ON DELETE CASCADE,
    told TEXT NOT NULL
);
