"""The users of the panel: what they are, what is accepted, what each call does."""
