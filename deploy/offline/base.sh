#!/bin/sh
# Make the base image where no registry of images can be reached: Debian with Python
# 3.13, of Debian's packages alone.
#
#   deploy/offline/base.sh IMAGE FOLDER
#
# FOLDER takes the root file system (300 MB), and is used again when it is there. To be
# run as root. What this machine trusts (its certificates, pip's settings) goes along,
# so that a build on it reaches the package index as the machine itself does.
set -eu

image=$1 folder=$2

if [ ! -f "$folder/.complete" ]; then
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv \
        trixie "$folder"
    rm -rf "$folder"/var/cache/apt/* "$folder"/var/lib/apt/lists/*
    touch "$folder/.complete"
fi
cp -L /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
if [ -f /etc/pip.conf ]; then
    cp /etc/pip.conf "$folder/etc/"
fi
tar --directory "$folder" --exclude ./.complete --create . |
    docker import --message "Debian's packages, by deploy/offline/base.sh" - "$image"
