"""How often somebody may ask, told on every answer (draft-ietf-httpapi-ratelimit)."""

from typing import Any, Final

from litestar.connection import ASGIConnection

from api.http.problems.catalogue import QUOTA_EXCEEDED
from api.http.problems.problem import ProblemError
from domain.access.rates import Allowance

HEADERS: Final = "headers"
"""Under this name the envelope finds headers for whatever is answered."""


def count(connection: ASGIConnection[Any, Any, Any, Any], allowance: Allowance) -> None:
    """Tell what is left.

    Raises:
        ProblemError: nothing is.
    """
    policies = ", ".join(
        f'"{it.policy.name}";q={it.policy.quota};w={it.policy.window_seconds}'
        for it in allowance.left
    )
    left = ", ".join(
        f'"{it.policy.name}";r={it.remaining};t={it.reset_seconds}'
        for it in allowance.left
    )
    connection.scope["state"][HEADERS] = [
        (b"ratelimit-policy", policies.encode()),
        (b"ratelimit", left.encode()),
    ]
    if not allowance.is_allowed:
        seconds = allowance.retry_after_seconds
        detail = f"ask again in {seconds} s: {', '.join(allowance.violated)} is used up"
        headers = {"Retry-After": str(seconds)}
        raise ProblemError(
            QUOTA_EXCEEDED, detail, headers=headers, violated=allowance.violated
        )
