-- What a bare name means to an account: a shared app takes a name only once its collaborator has accepted it, or where the name was never used.
-- accepted_time is when the account accepted the app; of accepted apps of one name the earliest has it. Null: not accepted. Collaborators from before this
-- migration have accepted. Rows of the account in whose namespace the app is (apps.owner_id) need none.
-- is_received: the account came to have access by a transfer. Until it accepts the app, no bare name of the account means it.
-- An app is in its owner's namespace, which is apps.owner_id: quotas, keys and the long form of its name go by it. A transfer gives the receiver the role
-- Owner at once and changes apps.owner_id when it is accepted, so that names are unique per namespace by the constraint that is there.
-- used_names has every name that an account has had an app by, its own or an accepted one. Rows outlive the app.
-- The same file name stands in migrations/sqlite; the texts are equal.

ALTER TABLE collaborators ADD COLUMN accepted_time BIGINT;

ALTER TABLE collaborators ADD COLUMN is_received BOOLEAN NOT NULL DEFAULT FALSE;

UPDATE collaborators SET accepted_time = access_time;

CREATE TABLE used_names (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    app_id TEXT NOT NULL,
    PRIMARY KEY (account_id, name, app_id)
);

INSERT INTO used_names (account_id, name, app_id) SELECT c.account_id, a.name, a.id FROM collaborators c JOIN apps a ON a.id = c.app_id;
