"""Secrets in the database: sealed with AES-256-GCM, each one for its place alone."""
