"""What a claim costs beside everything that it does not take, and what grows with what.

    python -m bench.peers        runs this family among the others

The tables are made once per run and stay: every round claims in all of them by turns,
so that each ratio is of the same minute.
"""

from bench.claims.measures import measures

__all__ = ["measures"]
