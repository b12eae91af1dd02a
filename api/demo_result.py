"""What the edge shows of a demo, while it runs and when it has ended."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class DemoProgress(Protocol):
    """How far a demo is."""

    @property
    def settled(self) -> int:
        """Orders that are settled."""
        ...

    @property
    def fulfilled(self) -> int:
        """Orders that are fulfilled."""
        ...

    @property
    def unfinished(self) -> int:
        """Jobs that are not finished."""
        ...

    @property
    def dead(self) -> int:
        """Jobs that wait for a person."""
        ...


class Finding(Protocol):
    """One question that was put to the log and to the panel's book."""

    @property
    def question(self) -> str:
        """What was asked."""
        ...

    @property
    def compared(self) -> int:
        """How many things were compared."""
        ...

    @property
    def disagreements(self) -> tuple[str, ...]:
        """What disagrees, a sentence each."""
        ...


class DemoResult(Protocol):
    """What a demo ends with."""

    @property
    def figures(self) -> Sequence[tuple[str, str]]:
        """Names and figures."""
        ...

    @property
    def lines(self) -> Sequence[tuple[str, str]]:
        """What the read models were asked, and what they told."""
        ...

    @property
    def answers(self) -> Mapping[str, object]:
        """The same for a program."""
        ...

    @property
    def findings(self) -> Sequence[Finding]:
        """What was compared, and what disagrees."""
        ...

    @property
    def exit_codes(self) -> Sequence[int]:
        """How the workers ended."""
        ...

    @property
    def seconds(self) -> float:
        """How long it took."""
        ...

    @property
    def is_right(self) -> bool:
        """Whether nothing disagrees."""
        ...


class PlayedDemo(Protocol):
    """A demo that has ended, and the data folder that it left."""

    @property
    def result(self) -> DemoResult:
        """What it ended with."""
        ...

    @property
    def folder(self) -> Path:
        """Where its database, its panel's book and its logs are."""
        ...
