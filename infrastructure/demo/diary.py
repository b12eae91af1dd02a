"""What the people of a demo did, as they wrote it down themselves.

The check believes this, the panel's book and the order in which the log says that
things were decided; it believes nothing that the product says about their outcome.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

type Given = Mapping[str, int | str | tuple[str, ...]]
"""Parameters of an operation."""

type Told = Mapping[str, object] | tuple[str, ...] | str
"""One side of a drift, in the words of the specification."""


@dataclass(frozen=True, slots=True)
class Sale:
    """One order of the shop's file."""

    customer: str
    days: int
    goods: "Goods"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goods:
    """What of an order a provider has to deliver, and what it is about in money."""

    provider: str
    recipient: str
    units: int
    """Stars, of all pieces together."""
    cost_minor: int
    price_minor: int
    """Of all pieces, before any discount."""
    amount_minor: int
    """What was paid for the whole order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an operator has said about a delivery in review."""

    operator: str
    verdict: str
    key: str
    """Of the purchase that the gateway's ledger was searched for."""
    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """One command of an operator."""

    operator: str
    reason: str
    customer: str
    operation: str


@dataclass(frozen=True, slots=True)
class Refused(Said):
    """One that was refused."""


@dataclass(frozen=True, slots=True)
class Asked(Said):
    """One by which an operation was asked for."""

    given: Given
    is_hopeless: bool = False
    """The panel cannot do it, now or later."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that somebody changed at the panel itself, past everybody."""

    customer: str
    kind: str
    """Of the drift that this is."""
    shows: Told
    """What the panel shows from then on."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One instant, as both books tell it."""

    position: int
    """The last one that was handed out in the log."""
    at_ns: int
    """The machine's monotonic clock, by which the panel's book tells requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waited for what in the window, as the read models told it."""

    first: int
    last: int
    """Positions of the log: everything up to the first one was in, nothing after the
    last."""
    orders: Mapping[str, str]
    """What each order waited for that was paid and not delivered."""
    held: frozenset[str]
    """Operations that waited for the gate to open."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A read model beside a fold of the whole log."""

    rows: int
    differing: int
    lag: int
    """Positions by which it was behind the log."""
    terms: int
    """In which it was carried forward: each begins when a process takes the lead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the read models told when everything was over."""

    position: int
    """Of the log, of which they told."""
    attempts: Mapping[str, int]
    """How often what has happened to jobs and operations, by the tag of its event."""
    dead: Mapping[str, int]
    """Who is dead and why: kind, code and what was met."""
    waiting: Mapping[str, str]
    """What each order waits for that was paid and not delivered."""
    compared: Mapping[str, Compared]
    """Every read model, by name."""


@dataclass(slots=True, kw_only=True)
class Window:
    """The panel was closed for maintenance by an operator."""

    operator: str
    reason: str
    over: str
    """Why it was opened again."""
    notice_ru: str
    notice_en: str
    first: Mark
    """Its gate was closed from then on,"""
    last: Mark | None = None
    """and until then; None: it still is."""
    settled: int = 0
    """Orders that were settled meanwhile,"""
    held: int = 0
    """and jobs that were held, as counted before the end."""
    waiting: Waiting | None = None
    """What waited for what, just before the end."""


@dataclass(slots=True)
class Diary:
    """All of it."""

    sales: dict[str, Sale] = field(default_factory=dict[str, Sale])
    """By order."""
    asked: dict[str, Asked] = field(default_factory=dict[str, Asked])
    """By operation."""
    refused: list[Refused] = field(default_factory=list[Refused])
    refunds: dict[str, str] = field(default_factory=dict[str, str])
    """Reasons by order."""
    edits: list[Edit] = field(default_factory=list[Edit])
    tried: set[str] = field(default_factory=set[str])
    """X-Request-ID of every request by which somebody tried to edit."""
    verdicts: list[tuple[str, Verdict]] = field(
        default_factory=list[tuple[str, Verdict]]
    )
    """With the delivery that each is about."""
    configured: list[tuple[str, str, str]] = field(
        default_factory=list[tuple[str, str, str]]
    )
    """What was set up of providers: the tag of its event, by whom, why."""
    window: Window | None = None
    answers: Answers | None = None

    @property
    def commands(self) -> int:
        """How many commands operators gave."""
        refunds = len(self.refunds)
        return len(self.asked) + len(self.refused) + refunds + len(self.verdicts)
