"""Which requests go wrong, and how: fault rules, a share of all, and their JSON form.

A fault strikes *before* the gateway has bought anything, or *after* it bought:

    before: slow, cut_before, error_before, garbage_before, limited, unauthorized,
            forbidden, balance_out, redirect, lie_delivered
    after:  cut_after, late, twice, error_after, garbage_after, big_body, lie_failed
    later:  deliver_later, fail_later

The first rule that matches wins; the share of all comes last.  What strikes a request
is drawn from the seed, the request's key and how often that key was seen, so the same
buyer meets the same faults, whatever else runs at the same time.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, Final, cast

FAULTS: Final[Mapping[str, str]] = {
    "slow": "waits `seconds`, then buys and answers",
    "cut_before": "the connection is reset, nothing is bought",
    "error_before": "`status` (502), nothing is bought",
    "garbage_before": "200 with a page of HTML, nothing is bought",
    "limited": "429 with Retry-After `retry_after` s, nothing is bought",
    "unauthorized": "401, nothing is bought",
    "forbidden": "403, nothing is bought",
    "balance_out": "the buyer's money is spent, nothing is bought",
    "redirect": "302 to another host, nothing is bought",
    "lie_delivered": "says delivered, and nothing is bought",
    "cut_after": "accepts and dies: bought, then the connection is reset",
    "late": "bought, then answers after `seconds`",
    "twice": "bought once, answered twice, and told twice by callbacks",
    "error_after": "bought, then `status` (502)",
    "garbage_after": "bought, then 200 with a page of HTML",
    "big_body": "bought, then an answer of more than 1 MiB",
    "lie_failed": "bought, and says that it was refused",
    "deliver_later": "accepted; delivered after `seconds`, null: when told to",
    "fail_later": "accepted; failed after `seconds`, null: when told to",
}
FAULT_NAMES: Final = tuple(FAULTS)

ACTIONS: Final = ("purchase", "lookup", "balance")

_ROTATED_SECONDS: Final = 0.2
"""What `slow`, `late` and the like wait when no rule says how long."""


class FaultError(ValueError):
    """The description of a fault cannot be understood."""


@dataclass(frozen=True, slots=True)
class FaultRule:
    """When one fault strikes, and how hard."""

    name: str
    probability: float = 1.0
    times: int | None = None
    """Strike so often, then never again; None: without end."""
    match: str = ""
    """Only requests whose key, decision's key or recipient holds this text."""
    on: str = "purchase"
    """Only requests of this action: `purchase`, `lookup` or `balance`."""
    seconds: float | None = None
    status: int = 502
    retry_after: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot strike.

        Raises:
            FaultError: unknown name or action, or a number outside its range.
        """
        if self.name not in FAULTS:
            msg = f"unknown fault {self.name!r}; known: {', '.join(FAULTS)}"
            raise FaultError(msg)
        if self.on not in ACTIONS:
            msg = f"{self.name}: on must be one of {', '.join(ACTIONS)}"
            raise FaultError(msg)
        if not 0 <= self.probability <= 1:
            msg = f"{self.name}: probability must be 0 to 1"
            raise FaultError(msg)


@dataclass(frozen=True, slots=True)
class Share:
    """In `rate` of all purchases, one of the named faults."""

    rate: float
    names: tuple[str, ...] = FAULT_NAMES
    seed: int = 0
    seconds: float = _ROTATED_SECONDS

    def __post_init__(self) -> None:
        """Refuse what cannot strike.

        Raises:
            FaultError: unknown name, or a rate outside 0 to 1.
        """
        if not 0 <= self.rate <= 1 or not self.names:
            msg = "share: rate must be 0 to 1, and at least one name given"
            raise FaultError(msg)
        for name in self.names:
            FaultRule(name)


@dataclass(slots=True)
class _Armed:
    """A rule, and how often it may still strike."""

    rule: FaultRule
    left: int | None

    @property
    def is_spent(self) -> bool:
        return self.left is not None and self.left <= 0

    def strikes(self, action: str, names: tuple[str, ...], draw: Random) -> bool:
        rule = self.rule
        is_meant = rule.on == action and any(rule.match in name for name in names)
        if self.is_spent or not is_meant or draw.random() >= rule.probability:
            return False
        if self.left is not None:
            self.left -= 1
        return True


@dataclass(slots=True)
class FaultPlan:
    """The faults in force now; safe to change while requests run."""

    _armed: list[_Armed] = field(default_factory=list[_Armed])
    _share: Share | None = None
    _seed: int = 0
    _seen: Counter[str] = field(default_factory=Counter[str])
    _struck: Counter[str] = field(default_factory=Counter[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def set(self, *rules: FaultRule, share: Share | None = None, seed: int = 0) -> None:
        """Put exactly these in force, with fresh counters and this seed."""
        with self._lock:
            self._armed = [_Armed(rule, rule.times) for rule in rules]
            self._share = share
            self._seed = share.seed if share else seed
            for counter in (self._seen, self._struck):
                counter.clear()

    def add(self, rule: FaultRule) -> None:
        """Put one more rule in force, after those that are."""
        with self._lock:
            self._armed.append(_Armed(rule, rule.times))

    def choose(self, action: str, names: tuple[str, ...]) -> FaultRule | None:
        """Return the fault that strikes this request, and count it.

        `names` are its key, its decision's key and its recipient.
        """
        with self._lock:
            who = f"{action}:{names[0] if names else ''}"
            self._seen[who] += 1
            draw = Random(f"{self._seed}:{who}:{self._seen[who]}")  # noqa: S311 - no secret
            fault = self._chosen(action, names, draw)
            if fault is not None:
                self._struck[fault.name] += 1
            return fault

    def _chosen(
        self, action: str, names: tuple[str, ...], draw: Random
    ) -> FaultRule | None:
        for armed in self._armed:
            if armed.strikes(action, names, draw):
                self._armed = [each for each in self._armed if not each.is_spent]
                return armed.rule
        share = self._share
        if share is None or action != "purchase" or draw.random() >= share.rate:
            return None
        return FaultRule(draw.choice(share.names), seconds=share.seconds)

    def described(self) -> dict[str, object]:
        """Return what is in force, in the form that `configure` takes, with counts."""
        with self._lock:
            return {
                "rules": [
                    {**asdict(armed.rule), "times": armed.left} for armed in self._armed
                ],
                "share": asdict(self._share) if self._share else None,
                "seed": self._seed,
                "struck": dict(self._struck),
            }

    def configure(self, document: Mapping[str, Any]) -> None:
        """Put in force what a JSON document says; absent parts are switched off.

        Raises:
            FaultError: not {"rules": […], "share": {…} or null, "seed": n}.
        """
        given = {name: value for name, value in document.items() if name != "struck"}
        try:
            rules = [FaultRule(**rule) for rule in given.pop("rules", None) or ()]
            share = given.pop("share", None)
            seed = int(given.pop("seed", 0))
            known = Share(**_tuples(share)) if share else None
        except TypeError as error:
            raise FaultError(str(error)) from error
        if given:
            msg = f"unknown members: {', '.join(given)}"
            raise FaultError(msg)
        self.set(*rules, share=known, seed=seed)


def _tuples(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(cast("list[str]", value)) if isinstance(value, list) else value
        for name, value in document.items()
    }
