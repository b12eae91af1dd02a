"""All users of the panel by their keys, and the form of one call and its result."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from infrastructure.simulators.panel.users.answers import Answer, domain_error
from infrastructure.simulators.panel.users.user import User


@dataclass(frozen=True, slots=True)
class Call:
    """One routed request."""

    target: str
    """The path as sent, with its query string."""
    now: int
    params: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names in lower case."""

    def error(self, code: str) -> "Result":
        """Return the domain error of this code, nothing changed."""
        return Result(domain_error(code, self.target, self.now))


@dataclass(frozen=True, slots=True)
class Result:
    """What a call does to one user, and its answer. A read has before = after."""

    answer: Answer
    before: User | None = None
    after: User | None = None
    applied: bool = False


type Handler = Callable[["Directory", Call], Result]


class Directory:
    """The users in memory; only ever changed to what the book has committed."""

    def __init__(
        self, users: Iterable[User], last_id: int, squads: Mapping[str, str]
    ) -> None:
        self.squads: Final = squads
        """Names of the internal squads by UUID."""
        self.by_id: Final[dict[int, User]] = {}
        self.by_username: Final[dict[str, User]] = {}
        self.by_short_uuid: Final[dict[str, User]] = {}
        self.last_id = last_id
        self.device_fallback: int | None = None
        """Devices of a user without a limit of his own; None: no device is counted."""
        for user in users:
            self.replace(None, user)

    def replace(self, before: User | None, after: User | None) -> None:
        """Put `after` in the place of `before`; None: no such user."""
        if before is not None:
            del self.by_username[before.username], self.by_short_uuid[before.short_uuid]
            if after is None:
                del self.by_id[before.id]
        if after is not None:
            self.by_id[after.id] = after
            self.by_username[after.username] = after
            self.by_short_uuid[after.short_uuid] = after
            self.last_id = max(self.last_id, after.id)
