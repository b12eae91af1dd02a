"""What operators ask of an entitlement."""
