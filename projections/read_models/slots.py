"""Where the rows of a projection live, and under which name its checkpoint is kept.

Two tables of one shape, `read_<name>_a` and `read_<name>_b`, each with a checkpoint of
its own; `counterfoil.projections.live` says which of them is read.
"""

from typing import Final

SLOTS: Final = ("a", "b")

FOLLOWED: Final = "counterfoil"
"""What every projection of ours follows, as the library's tracking calls it."""


def other_slot(slot: str) -> str:
    """Return the spare slot while `slot` is live, and the other way round."""
    return "b" if slot == "a" else "a"


def table_name(name: str, slot: str) -> str:
    """Return the table of a projection's rows, in the schema `counterfoil`."""
    return f"read_{name}_{slot}"


def tracking_name(name: str, slot: str) -> str:
    """Return the projection's name in the library's tracking."""
    return f"{name}_{slot}"


def checkpoint_name(name: str, slot: str) -> str:
    """Return the key of its row in `counterfoil.checkpoints`."""
    return f"{tracking_name(name, slot)}:{FOLLOWED}"
