"""Why is it so: what happened around one id, and what the heads say comes next."""

from projections.why.story import Story, Why

__all__ = ["Story", "Why"]
