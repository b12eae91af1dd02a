"""Orders beyond access: what goods they owe, and when everything of them is over."""
