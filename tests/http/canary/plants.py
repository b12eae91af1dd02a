"""What is planted to be looked for: secrets of every shape, a marker for each place.

secrets   are planted everywhere, and may be nowhere: whatever they stand in
markers   are plain words; each says in which place it was planted.  Most may be nowhere
          either; where one may be told, `TOLD` says by whom, and why
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

SECRETS: Final[Mapping[str, str]] = {
    "bearer token": "Zq7bearerK3wW9xT2pL",
    "password": "Zq7passwordH8nV4",
    "card number": "4929123412341234",
    "URL's user": "Zq7urluserM2pW",
    "e-mail": "zq7mailbox@canary.example",
    "link of a subscription": "Zq7linkR5tY7uJ",
    "client link": "Zq7vlessB6gF1d",
}
"""What must be nowhere: the part that is secret."""

SPRINKLED: Final = (
    f"Bearer {SECRETS['bearer token']} password={SECRETS['password']} "
    f"{SECRETS['card number']} https://u:{SECRETS["URL's user"]}@h.example/p "
    f"{SECRETS['e-mail']} https://h.example/sub/{SECRETS['link of a subscription']} "
    f"vless://{SECRETS['client link']}@h.example:443"
)
"""All of them, as they are written."""


def planted(place: str) -> str:
    """Return a text that names its place, with every secret."""
    return f"{marker(place)} {SPRINKLED}"


MARKERS: Final[dict[str, str]] = {}
"""The markers that were made, by their places."""


def marker(place: str) -> str:
    """Return the plain word of a place."""
    words = re.sub("[^A-Za-z]", "", place.title())
    return MARKERS.setdefault(place, f"Zq7{words}Canary")


LOG: Final = "the log"
METRICS: Final = "the metrics"
PROBES: Final = "a probe"


@dataclass(frozen=True, slots=True)
class Told:
    """Where a marker may be, and why that is no leak."""

    where: str
    """A pattern of places."""
    why: str

    def allows(self, where: str) -> bool:
        """Whether it may be told there."""
        return re.match(self.where, where) is not None


_JOB: Final = r"GET /v1(/admin|/panel)?/jobs/[^/]+(/report)? as"
_DATA: Final = rf"{_JOB}|GET /v1/panel/audit|GET /v1/(admin|panel)/.*events"
_SENDER: Final = "is said to whoever sent it, and to nobody else"

TOLD: Final[Mapping[str, Told]] = {
    "reason": Told(
        r"GET /v1/panel/audit|GET /v1/(admin|panel)/.*events|.*/(bulk-operations"
        r"|projections|queues|maintenance)",
        "why something was done is told to who may read the audit, or what it changed",
    ),
    "argument's name": Told(_JOB, "names of arguments are told, their values never"),
    "handler's error": Told(_JOB, "its own words are for whoever may read the job"),
    "handler's result": Told(_JOB, "it is returned to be read"),
    "handler's line": Told(LOG, "it is said to be written to the log"),
    "value": Told(
        r"(GET|ECHO \w+) .*: 2", "names, notices and verdicts are data, once accepted"
    ),
    "provider's name": Told(
        r"GET /v1/(admin/|panel/system/)webhooks", "what was called is on record"
    ),
    "recipient": Told(
        r"GET /v1/(admin|panel)/deliveries/.* as (token|owner|administrator|finance)",
        "whose a delivery is at the provider is told to who decides about it",
    ),
    "name asked for": Told(r"ECHO .*: 4", f"what is not known {_SENDER}"),
    "filter": Told(r"ECHO .*: 4", f"which term is wrong {_SENDER}"),
    "link of a subscription": Told(_DATA, "what a result holds, or an id, may be one"),
    "e-mail": Told(_DATA, "what a result holds, or an id, may be one"),
}
"""What may be told somewhere; all else may be nowhere."""


class Search:
    """Looks for what was planted, place by place."""

    def __init__(self) -> None:
        """Look for all that is planted from now on."""
        self.found: list[str] = []
        self.seen: set[str] = set()

    def all(self, said: Iterable[tuple[str, str]]) -> None:
        """Look at all that is said, and where."""
        for where, content in said:
            self(where, content)

    def __call__(self, where: str, content: str) -> None:
        """Look at one content; what is wrong is kept in `found`."""
        for name, word in {**SECRETS, **MARKERS}.items():
            if word in content:
                self.seen.add(name)
                if name not in TOLD or not TOLD[name].allows(where):
                    self._tell(name, where, content, word)

    def _tell(self, what: str, where: str, content: str, found: str) -> None:
        at = content.index(found)
        near = content[max(0, at - 60) : at + 60]
        self.found.append(f"{what} in {where}: …{near!r}…")
