"""What the edge tells of its requests, as measures."""

from infrastructure.telemetry.measures import (
    KeyUsed,
    Refused,
    RequestAnswered,
    RequestBegun,
    StreamDropped,
    StreamFollowed,
    measure,
)


class Requests:
    """See `api.http.counted.Counts`."""

    def began(self, surface: str) -> None:
        """See `Counts.began`."""
        measure(RequestBegun(surface))

    def answered(  # noqa: PLR0913 - all labels of one answer
        self,
        surface: str,
        route: str,
        method: str,
        *,
        status: int,
        seconds: float,
        problem: str | None,
    ) -> None:
        """See `Counts.answered`."""
        measure(RequestBegun(surface, -1))
        measure(RequestAnswered(surface, route, method, status, seconds, problem))

    def keyed(self, result: str) -> None:
        """See `Counts.keyed`."""
        measure(KeyUsed(result))

    def refused(self, surface: str, cause: str, *, is_known: bool) -> None:
        """See `Counts.refused`."""
        measure(Refused(surface, cause, is_known))

    def follows(self, n: int) -> None:
        """See `Counts.follows`."""
        measure(StreamFollowed(n))

    def dropped(self) -> None:
        """See `Counts.dropped`."""
        measure(StreamDropped())
