"""One problem as it is answered, and the error that asks for it."""

from collections.abc import Mapping

import msgspec


class Mistake(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong with a request."""

    pointer: str | None = None
    """A JSON pointer into the body, as a fragment: `#/lines/0/quantity`."""
    parameter: str | None = None
    """Or the name of a parameter of path or query, or of a header."""
    code: str
    detail: str


class Problem(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """Problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    """What happened this time, and what can be done; never what a provider said."""
    instance: str
    code: str
    request_id: str
    retryable: bool
    docs: str
    errors: tuple[Mistake, ...] = ()
    state: str | None = None
    """Of what was asked about, when that forbids it."""
    allowed: tuple[str, ...] = ()
    """What could be done instead."""
    violated_policies: tuple[str, ...] = msgspec.field(
        default=(), name="violated-policies"
    )
    """Names of the limits that are used up."""


class ProblemError(Exception):
    """The edge refuses a request: by a code of the catalogue."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        mistakes: tuple[Mistake, ...] = (),
        headers: Mapping[str, str] | None = None,
        violated: tuple[str, ...] = (),
    ) -> None:
        """Say what is wrong, where, and what the answer's headers add."""
        self.code = code
        self.detail = detail
        self.mistakes = mistakes
        self.headers = dict(headers or {})
        self.violated = violated
        super().__init__(f"{code}: {detail}")


def misfit(
    name: str, rule: str, code: str, *, inner: str | None = None
) -> ProblemError:
    """Return the refusal of one parameter or header, which breaks `rule`.

    `inner` is the code of the mistake, when it is another than the problem's.
    """
    mistake = Mistake(parameter=name, code=inner or code, detail=rule)
    return ProblemError(code, f"{name}: {rule}", mistakes=(mistake,))
