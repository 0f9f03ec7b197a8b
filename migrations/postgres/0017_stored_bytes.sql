-- Stored bytes count for the account that stored them, also when the app is deleted: its bundles stay. Rows that are there
-- get the account that is known: the app's; of a deleted app, that of its deployment keys, which are kept. Rows of a deleted account keep its id.
-- What the release before this one stores meanwhile has '' until the same bytes are uploaded or released again.
-- The same file name stands in migrations/sqlite; the texts are equal.

ALTER TABLE blobs ADD COLUMN account_id TEXT NOT NULL DEFAULT '';

UPDATE blobs SET account_id = COALESCE(
    (SELECT a.owner_id FROM apps a WHERE a.id = blobs.app_id),
    (SELECT MIN(k.account_id) FROM deployment_keys k WHERE k.app_id = blobs.app_id AND k.account_id <> ''), '');

CREATE INDEX blobs_by_account ON blobs (account_id, size);
