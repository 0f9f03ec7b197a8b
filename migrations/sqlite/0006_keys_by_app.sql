-- A transfer and a deletion look for all keys that an app had last. Keys are never freed, so that there are more with each deployment that ever was.
-- The same file name stands in migrations/postgres; the texts are equal.

CREATE INDEX deployment_keys_by_app ON deployment_keys (app_id);
