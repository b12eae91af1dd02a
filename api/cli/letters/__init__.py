"""`dead-letters`: what nothing runs again without a person."""
