"""What a person decides about goods whose end nobody knows, and what he may ask."""
