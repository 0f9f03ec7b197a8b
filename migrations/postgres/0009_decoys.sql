-- Registrations by network, so that a mail asked for again is about one from the same network; and decoys, which stand for registrations of addresses
-- that have an account already: nobody has their token, and a login meets them as it meets a registration.
-- The same file name stands in migrations/sqlite; the texts are equal.

-- Empty where an earlier release stored the row.
ALTER TABLE registrations ADD COLUMN network TEXT NOT NULL DEFAULT '';
ALTER TABLE registrations ADD COLUMN is_decoy BOOLEAN NOT NULL DEFAULT FALSE;
