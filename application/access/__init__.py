"""Who asks, and what they may do; every use case asks here."""
