"""Which requests go wrong, and how: fault rules, the rotation, and their JSON form.

A fault either spoils a request *before* the panel applies it, or *after*:

    before: hang_before, reset_before, close_before, error_before, rate_limited,
            rate_limited_retry_after, unauthorized, forbidden, not_json, redirect,
            database_error
    after:  hang_after, reset_after, close_after, error_after, truncated_json,
            cut_body, big_body
    neither: latency

The first rule that matches wins; the rotation comes last. Draws come from one seeded
generator, so the same requests in the same order meet the same faults.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, Final, cast

FAULTS: Final[Mapping[str, str]] = {
    "latency": "works, `ms` later",
    "hang_before": "waits `seconds`, then applies and answers; null: never does either",
    "hang_after": "applies, waits `seconds`, then answers; null: never answers",
    "reset_before": "TCP reset, not applied",
    "reset_after": "applied, then TCP reset",
    "close_before": "closed with 0 bytes, not applied",
    "close_after": "applied, then closed with 0 bytes",
    "error_before": "a proxy's `status` (502), not applied",
    "error_after": "applied, then a proxy's `status` (502)",
    "rate_limited": "429 without Retry-After, not applied",
    "rate_limited_retry_after": "429 with Retry-After `retry_after` s, not applied",
    "unauthorized": "401 as for a bad token, not applied",
    "forbidden": "403 as during a database outage, not applied",
    "not_json": "200 with a proxy's HTML page, not applied",
    "truncated_json": "applied, then 200 with the first half of the JSON",
    "cut_body": "applied, then closed in the middle of the announced body",
    "big_body": "applied, then an answer of more than 1 MiB",
    "redirect": "302 to another host, not applied",
    "database_error": "500 with the route's A0xx, as while the database is down",
}
FAULT_NAMES: Final = tuple(FAULTS)

LATENCY_MS: Final = 250.0
"""Delay of the fault `latency` when its rule names none."""


class FaultError(ValueError):
    """The description of a fault cannot be understood."""


@dataclass(frozen=True, slots=True)
class FaultRule:
    """When one fault strikes, and how hard."""

    name: str
    probability: float = 1.0
    every: int | None = None
    """Strike at every n-th matching request, instead of by chance."""
    methods: tuple[str, ...] = ()
    """Only these; empty: all."""
    path_prefix: str = ""
    times: int | None = None
    """Strike so often, then never again; None: without end."""
    seconds: float | None = None
    """How long a hang lasts; None: for ever."""
    ms: float = LATENCY_MS
    status: int = 502
    retry_after: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot strike.

        Raises:
            FaultError: unknown name, or a number outside its range.
        """
        if self.name not in FAULTS:
            msg = f"unknown fault {self.name!r}; known: {', '.join(FAULTS)}"
            raise FaultError(msg)
        drawn = 0 <= self.probability <= 1
        if not drawn or (self.every is not None and self.every < 1):
            msg = f"{self.name}: probability must be 0 to 1, every at least 1"
            raise FaultError(msg)

    def matches(self, method: str, path: str) -> bool:
        """Return whether the rule is about this request."""
        named = not self.methods or method in self.methods
        return named and path.casefold().startswith(self.path_prefix.casefold())


@dataclass(frozen=True, slots=True)
class Rotation:
    """In `rate` of all requests, the named faults in turn."""

    rate: float
    names: tuple[str, ...] = FAULT_NAMES
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot strike.

        Raises:
            FaultError: unknown name, or a rate outside 0 to 1.
        """
        if not 0 <= self.rate <= 1 or not self.names:
            msg = "rotation: rate must be 0 to 1, and at least one name given"
            raise FaultError(msg)
        for name in self.names:
            FaultRule(name)


@dataclass(slots=True)
class _Armed:
    """A rule with the memory of what it saw."""

    rule: FaultRule
    seen: int = 0
    struck: int = 0

    def strikes(self, random: Random) -> bool:
        if self.rule.times is not None and self.struck >= self.rule.times:
            return False
        self.seen += 1
        if self.rule.every is not None:
            hit = self.seen % self.rule.every == 0
        else:
            hit = random.random() < self.rule.probability
        self.struck += hit
        return hit


@dataclass(slots=True)
class FaultPlan:
    """The faults in force now; safe to change while requests run."""

    latency_ms: float = 0.0
    """Added to every request, fault or not."""
    _armed: list[_Armed] = field(default_factory=list[_Armed])
    _rotation: Rotation | None = None
    _turn: int = 0
    _random: Random = field(default_factory=lambda: Random(0))  # noqa: S311 - no secret
    _struck: Counter[str] = field(default_factory=Counter[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def set(
        self,
        *rules: FaultRule,
        rotation: Rotation | None = None,
        latency_ms: float = 0.0,
    ) -> None:
        """Put exactly these in force, with fresh counters and a fresh seed."""
        with self._lock:
            self.latency_ms = latency_ms
            self._armed = [_Armed(rule) for rule in rules]
            self._rotation = rotation
            self._turn = 0
            self._random = Random(rotation.seed if rotation else 0)  # noqa: S311
            self._struck.clear()

    def clear(self) -> None:
        """Let everything work again."""
        self.set()

    def choose(self, method: str, path: str) -> FaultRule | None:
        """Return the fault that strikes this request, and count it."""
        with self._lock:
            fault = self._chosen(method, path)
            if fault is not None:
                self._struck[fault.name] += 1
            return fault

    def _chosen(self, method: str, path: str) -> FaultRule | None:
        for armed in self._armed:
            if armed.rule.matches(method, path) and armed.strikes(self._random):
                return armed.rule
        rotation = self._rotation
        if rotation is None or self._random.random() >= rotation.rate:
            return None
        name = rotation.names[self._turn % len(rotation.names)]
        self._turn += 1
        return FaultRule(name)

    def described(self) -> dict[str, object]:
        """Return what is in force, in the form that `configure` takes, with counts."""
        with self._lock:
            return {
                "latency_ms": self.latency_ms,
                "rules": [
                    {**asdict(armed.rule), "struck": armed.struck}
                    for armed in self._armed
                ],
                "rotation": asdict(self._rotation) if self._rotation else None,
                "struck": dict(self._struck),
            }

    def configure(self, document: object) -> None:
        """Put in force what a JSON document says; absent parts are switched off.

        Raises:
            FaultError: not {"rules": […], "rotation": {…} or null, "latency_ms": n}.
        """
        if not isinstance(document, dict):
            msg = "expected a JSON object"
            raise FaultError(msg)
        try:
            given = dict(cast("Mapping[str, Any]", document))
            rules = [_rule(each) for each in given.pop("rules", None) or ()]
            rotation = given.pop("rotation", None)
            latency_ms = float(given.pop("latency_ms", 0.0))
            known = Rotation(**_tuples(rotation)) if rotation else None
        except (TypeError, ValueError) as error:
            raise FaultError(str(error)) from error
        if given:
            msg = f"unknown members: {', '.join(given)}"
            raise FaultError(msg)
        self.set(*rules, rotation=known, latency_ms=latency_ms)


def _rule(document: Mapping[str, Any]) -> FaultRule:
    return FaultRule(**_tuples({k: v for k, v in document.items() if k != "struck"}))


def _tuples(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(cast("list[str]", value)) if isinstance(value, list) else value
        for name, value in document.items()
    }
