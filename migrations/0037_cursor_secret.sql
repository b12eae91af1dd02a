-- What the API signs cursors of lists with: random, made once, the same for all
-- processes of an installation. Two UUIDs hold 244 bits of the server's strong random
-- numbers; no extension is needed for them.

ALTER TABLE counterfoil.installation ADD COLUMN cursor_secret bytea;
UPDATE counterfoil.installation
   SET cursor_secret = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
ALTER TABLE counterfoil.installation ALTER COLUMN cursor_secret SET NOT NULL;
