"""One request to the panel."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """One request: where it goes and what it carries."""

    method: str
    path: str
    """Below the base address, every variable part quoted."""
    name: str
    """How details call it: no ids, no names of users."""
    body: bytes | None = None
    has_squads: bool = False
    """Whether the body names squads that the panel might not know."""

    @property
    def writes(self) -> bool:
        """Whether the panel may have changed something when no answer came."""
        return self.method != "GET"
