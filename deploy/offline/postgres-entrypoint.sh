#!/bin/sh
# Make a cluster in PGDATA when there is none, its user with the password of the file;
# then be the server.
set -eu

if [ ! -f "$PGDATA/PG_VERSION" ]; then
    mkdir -p "$PGDATA"
    initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" \
        --pwfile "$POSTGRES_PASSWORD_FILE" --auth-local trust \
        --auth-host scram-sha-256 --encoding UTF8 --locale C >/dev/null
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -D "$PGDATA" postgres >/dev/null
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' \
    -c unix_socket_directories=/var/run/postgresql
