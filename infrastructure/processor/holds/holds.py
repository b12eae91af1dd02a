"""What holds a process back from claiming, as it was when it last looked.

A hint that spares claims in vain: whether a queue is paused or full is asked again by
every claim itself (`counterfoil.claimable`).
"""

from typing import Final

import msgspec

PAUSED: Final = "queue_paused"
DRAINING: Final = "draining"


class _Room(msgspec.Struct, frozen=True):
    paused: bool
    room: int


_rooms = msgspec.json.Decoder(dict[str, _Room])


class Holds:
    """Used by the claim loop alone."""

    def __init__(self) -> None:
        """Begin with nothing that holds it back."""
        self._rooms: dict[str, _Room] = {}
        self.is_draining = False
        """Whether a person has asked this process to claim nothing more."""

    def told(self, rooms: object, *, is_draining: bool) -> None:
        """Know from now on what the database says: JSON text, or None."""
        self._rooms = {} if rooms is None else _rooms.decode(str(rooms))
        self.is_draining = is_draining

    def most(self, queue: str, n: int) -> int:
        """Return how many jobs of `queue` are worth a claim that wants `n`."""
        if self.is_draining:
            return 0
        held = self._rooms.get(queue)
        return n if held is None else min(n, held.room)

    def bars(self, queue: str) -> bool:
        """Whether a claim of `queue` would be in vain."""
        return self.most(queue, 1) == 0

    def is_limited(self, queue: str) -> bool:
        """Whether `queue` has room for so many, or for none, but is not paused."""
        held = self._rooms.get(queue)
        return held is not None and not held.paused and not self.is_draining

    def why_stopped(self, queue: str) -> str | None:
        """Return why what waits claimed is to be given back; None: it is not."""
        if self.is_draining:
            return DRAINING
        held = self._rooms.get(queue)
        return PAUSED if held is not None and held.paused else None
