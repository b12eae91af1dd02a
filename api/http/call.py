"""One request that was let in: who asks, for what, and why."""

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from litestar import Request

from api.http.problems.catalogue import INVALID_REQUEST, REASON_REQUIRED
from api.http.problems.problem import ProblemError, misfit
from api.http.services import HttpServices
from api.http.surface import Surface
from application.access.principal import Principal
from application.operators.instruction import LONGEST_REASON, Instruction

REASON: Final = "X-Operator-Reason"
_UNSAID: Final = "asked for over the API"
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What handlers know of a request beside its path, query and body."""

    services: HttpServices
    principal: Principal
    surface: Surface
    request_id: str
    needs_reason: bool
    request: Request[Any, Any, Any]

    @property
    def tenant_id(self) -> str:
        """Whose records are asked about."""
        return self.principal.tenant_id

    def header(self, name: str) -> str | None:
        """Return a header as it was sent."""
        found: str | None = self.request.headers.get(name)
        return found

    def instruction(self) -> Instruction:
        """Return what is asked for, with the reason of whoever asks.

        Raises:
            ProblemError: there is no reason although the route needs one, or it cannot
                be read.
        """
        return self.principal.instruct(self._reason(), self.request_id)

    def _reason(self) -> str:
        given = self.header(REASON)
        if given is None or not given.strip():
            if self.needs_reason:
                raise _unreasonable(REASON_REQUIRED, f"say why in the header {REASON}")
            return _UNSAID
        if not _PLAIN.fullmatch(given):
            raise _unreasonable(INVALID_REQUEST, "percent-encode it as UTF-8")
        try:
            reason = unquote(given, errors="strict")
        except UnicodeDecodeError:
            raise _unreasonable(INVALID_REQUEST, "percent-encode it as UTF-8") from None
        if len(reason.strip()) > LONGEST_REASON:
            rule = f"at most {LONGEST_REASON} characters"
            raise _unreasonable(REASON_REQUIRED, rule)
        return reason


def _unreasonable(code: str, rule: str) -> ProblemError:
    return misfit(REASON, rule, code)
