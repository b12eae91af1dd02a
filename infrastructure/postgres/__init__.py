"""PostgreSQL: connections, migrations, heads and the batch store."""
