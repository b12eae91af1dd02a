"""Where an installation's database is, and where its schema stands."""

from pathlib import Path
from typing import Protocol


class Place(Protocol):
    """Where the database is."""

    @property
    def uri(self) -> str:
        """Address of the database; shown only when it holds no password."""
        ...

    @property
    def home(self) -> Path | None:
        """Folder of the embedded server; None when a server was given."""
        ...

    @property
    def is_ephemeral(self) -> bool:
        """Whether everything is gone when the process ends."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person must be told about it."""
        ...


class Finding(Protocol):
    """What the doctor has found out about one thing."""

    @property
    def about(self) -> str:
        """What was looked at."""
        ...

    @property
    def is_well(self) -> bool:
        """Whether it is as it should be."""
        ...

    @property
    def detail(self) -> str:
        """How it is; never a secret."""
        ...

    @property
    def remedy(self) -> str | None:
        """What would help."""
        ...


class SchemaState(Protocol):
    """Where the database's schema stands."""

    @property
    def place(self) -> Place:
        """Where the database is."""
        ...

    @property
    def newest(self) -> str:
        """The last migration of this version."""
        ...

    @property
    def applied(self) -> tuple[str, ...]:
        """Migrations that the database had before."""
        ...

    @property
    def pending(self) -> tuple[str, ...]:
        """Migrations that it lacks."""
        ...

    @property
    def done(self) -> tuple[str, ...]:
        """Migrations that were applied now."""
        ...

    @property
    def adopted(self) -> bool:
        """Whether a hand-made schema was taken over."""
        ...
