"""Callbacks: what providers tell by themselves, and what people have told again."""
