"""Boot the deployment, send 100 orders through it, and check them against two books.

In containers where an engine answers, else as plain processes with the commands and the
environment of the same compose file.  Nothing here imports the product's rules: what
should have come out is worked out anew, and compared with the log and the panel's book.
"""
