-- Imports from other CodePush servers: where an app and a deployment come from, so that an import can be repeated and continued; what a deployment had
-- counted there; collaborators who have no account here yet.
-- The same file name stands in migrations/sqlite; the texts are equal.

CREATE TABLE imported_apps (
    app_id TEXT PRIMARY KEY REFERENCES apps (id) ON DELETE CASCADE,
    source TEXT NOT NULL,
    source_name TEXT NOT NULL,
    imported_time BIGINT NOT NULL
);

-- last_label is the newest release that came from the source: as long as the deployment has no newer one, an import may change its releases.
-- counts is JSON: {"v3":{"active":5,"downloaded":9,"installed":8,"failed":1}}. Null: no history was imported yet.
CREATE TABLE imported_deployments (
    deployment_id TEXT PRIMARY KEY REFERENCES deployments (id) ON DELETE CASCADE,
    source_name TEXT NOT NULL,
    last_label BIGINT NOT NULL,
    counts TEXT,
    imported_time BIGINT NOT NULL
);

-- Releases whose package hash also covers directory entries, as old servers computed it. Devices cannot verify it.
CREATE TABLE imported_hashes (
    release_id TEXT PRIMARY KEY REFERENCES releases (id) ON DELETE CASCADE
);

-- Anyone who confirms such an address becomes a collaborator, until then.
CREATE TABLE awaited_collaborators (
    app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    permission TEXT NOT NULL,
    expires BIGINT NOT NULL,
    PRIMARY KEY (app_id, email)
);

CREATE INDEX awaited_collaborators_by_email ON awaited_collaborators (email);
