"""`Accept`: whether an answer is wanted in a form that there is (RFC 9110, 12.5.1)."""

import re
from collections.abc import Iterable
from typing import Final

from api.http.problems.catalogue import NOT_ACCEPTABLE
from api.http.problems.problem import ProblemError

HEADER: Final = "Accept"
_UNWANTED: Final = re.compile(r";\s*q\s*=\s*0(?:\.0{0,3})?\s*(?:;|$)", re.IGNORECASE)


def refuse_unacceptable(accept: str | None, offered: Iterable[str]) -> None:
    """Let pass whoever takes one of the offered media types, or says nothing of it.

    Parameters but `q=0` are not looked at: what we offer has none that matters.

    Raises:
        ProblemError: none of them is taken.
    """
    if accept is None or not accept.strip():
        return
    wanted = {
        each.partition(";")[0].strip().lower()
        for each in accept.split(",")
        if not _UNWANTED.search(each)
    }
    forms = tuple(offered)
    if not any(wanted & {"*/*", f"{_main(form)}/*", form} for form in forms):
        detail = f"{HEADER} takes nothing that there is: {', '.join(forms)}"
        raise ProblemError(NOT_ACCEPTABLE, detail)


def _main(form: str) -> str:
    return form.partition("/")[0]
