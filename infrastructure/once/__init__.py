"""Keys of requests in PostgreSQL: taken, kept, looked up (see `application.once`)."""
