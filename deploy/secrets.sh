#!/bin/sh
# Make the secrets that deploy/compose.yaml names; what is there stays as it is.
#
#   deploy/secrets.sh [FOLDER]      deploy/secrets, unless a folder is named
#
# An empty file means that the setting is unset: write the panel's token yourself. Who
# holds the operator token makes the first owner, and nothing else (docs/api-tokens.md).
# Containers read the files by the number of their own user, so the files are readable,
# and the folder lets nobody else in.
set -eu

folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
chmod 0700 "$folder"
cd "$folder"

drawn() { # BYTES
    head -c "$1" /dev/urandom | base64 | tr -d '\n'
}
keep() { # NAME: standard input, unless the file is there
    [ -e "$1" ] || { cat >"$1.new" && chmod 0444 "$1.new" && mv "$1.new" "$1"; }
}

drawn 24 | tr '+/' '-_' | keep postgres_password
printf 'postgresql://counterfoil:%s@postgres:5432/counterfoil' \
    "$(cat postgres_password)" | keep database_url
printf 'k1:%s' "$(drawn 32)" | keep data_encryption_keys
drawn 32 | tr '+/' '-_' | keep operator_token
[ -e remnawave_token ] || install -m 0644 /dev/null remnawave_token
