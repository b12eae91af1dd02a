"""What the API of this process answers."""

from typing import Final

from infrastructure.telemetry.measures import (
    KeyUsed,
    Refused,
    RequestAnswered,
    RequestBegun,
    StreamDropped,
    StreamFollowed,
)
from infrastructure.telemetry.metrics.families import QUICK, Families

_ROUTES: Final = 200


class RequestMetrics:
    """Sets the families of HTTP."""

    def __init__(self, families: Families) -> None:
        """Declare them."""
        self._requests = families.counter(
            "http_requests_total",
            "Requests answered, by template of their route.",
            *("surface", "route", "method", "status_class"),
            most=3 * _ROUTES,
        )
        self._seconds = families.histogram(
            "http_request_duration_seconds",
            "Requests, from their first byte to the end of their answer.",
            *("surface", "route", "method"),
            bounds=QUICK,
            most=_ROUTES,
        )
        self._in_flight = families.gauge(
            "http_requests_in_flight", "Requests being answered.", "surface", most=8
        )
        self._problems = families.counter(
            "problems_total", "Problems sent.", "code", most=100
        )
        self._keys = families.counter(
            "idempotency_total", "Requests under an idempotency key.", "result", most=8
        )
        self._unknown = families.counter(
            "auth_failures_total",
            "Requests whose credential was missing, unknown, expired or foreign.",
            *("surface", "cause"),
            most=30,
        )
        self._denied = families.counter(
            "authorization_denied_total",
            "Requests of somebody known who may not.",
            *("surface", "cause"),
            most=30,
        )

    def began(self, begun: RequestBegun) -> None:
        """Count who is here."""
        self._in_flight.add(begun.n, begun.surface)

    def answered(self, answered: RequestAnswered) -> None:
        """Count an answer."""
        route = (answered.surface, answered.route, answered.method)
        self._requests.add(*route, f"{answered.status // 100}xx")
        self._seconds.add((answered.seconds,), *route)
        if answered.problem is not None:
            self._problems.add(answered.problem)

    def keyed(self, used: KeyUsed) -> None:
        """Count the use of a key."""
        self._keys.add(used.result)

    def refused(self, refused: Refused) -> None:
        """Count who was not let in."""
        family = self._denied if refused.is_known else self._unknown
        family.add(refused.surface, refused.cause)


class StreamMetrics:
    """Sets the families of live streams."""

    def __init__(self, families: Families) -> None:
        """Declare them."""
        self._following = families.gauge(
            "sse_clients", "Streams of what happens that are open."
        )
        self._dropped = families.counter(
            "sse_dropped_total", "Streams ended because too much was missed."
        )

    def followed(self, followed: StreamFollowed) -> None:
        """Count who follows."""
        self._following.add(followed.n)

    def dropped(self, _: StreamDropped) -> None:
        """Count who has missed too much."""
        self._dropped.add()
