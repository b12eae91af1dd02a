"""The records that jobs serve, of whatever kind they are."""
