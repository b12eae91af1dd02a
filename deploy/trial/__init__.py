"""Boot the deployment, send 100 orders through its API, and check them by two books.

In containers where an engine answers, else as plain processes with the commands and the
environment of the same compose file.  API and worker are killed in the middle.  Nothing
here imports the product's rules: what should have come out is worked out anew, and
compared with the log and the panel's book.
"""
