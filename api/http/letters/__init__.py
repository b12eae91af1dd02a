"""Dead letters: what nothing runs again without a person."""
