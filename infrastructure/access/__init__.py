"""Identity in PostgreSQL: tokens, people, sessions; and how often they may ask."""
