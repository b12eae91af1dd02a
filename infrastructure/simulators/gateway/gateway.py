"""What the gateway sells and to whom it has sold: one purchase after the other.

A key is honoured for its lifetime: the same request under it is answered with the
purchase that it made, another one is refused.  An expiry is looked at in the moment of
buying, by the gateway's own clock.  After its lifetime a key means nothing any more, so
whoever sends it then buys again; a look-up finds the latest purchase under it for ever.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from infrastructure.simulators.gateway.signing import secret_bytes, signed_headers
from infrastructure.simulators.gateway.store import Arrival, Bought, Store

type Clock = Callable[[], int]
"""Milliseconds since 1970."""

_MS: Final = 1000


def current_ms() -> int:
    """Return the machine's time."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one request asks to buy."""

    key: str | None
    request_hash: str
    order_id: str | None
    product: str
    units: int
    recipient: str
    amount_minor: int
    currency: str
    expires_at: int | None = None
    """From when on it must not begin."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a purchase goes on once it is taken."""

    becomes: str | None = None
    """None: it is delivered at once; else `delivered` or `failed`, later."""
    after_seconds: float | None = None
    """None: when somebody tells it to."""
    copies: int = 1
    """How often the buyer is told of its end."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The purchase that answers a request."""

    bought: Bought
    is_replayed: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was bought: `insufficient_balance`, `expired` or `key_reused`."""

    reason: str


class Gateway:
    """Sells to one buyer; safe to call from many threads."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        key_lifetime_seconds: float,
        callback_secret: str | None,
    ) -> None:
        """Go on from what the ledger holds."""
        self._store: Final = store
        self.now: Final = clock
        self._key_lifetime_ms: Final = int(key_lifetime_seconds * _MS)
        self._signing_key: Final = (
            None if callback_secret is None else secret_bytes(callback_secret)
        )
        self._lock: Final = threading.Lock()

    def arrive(self, arrival: Arrival) -> int:
        """Keep that a request has arrived; return its number."""
        with self._lock:
            return self._store.arrive(arrival)

    def tell(self, seq: int, status: int | None, told: str) -> None:
        """Keep what the request is about to be told."""
        with self._lock:
            self._store.tell(seq, status, told)

    def buy(self, seq: int, wanted: Wanted, course: Course) -> Taken | Refused:
        """Return the purchase that the request made, now or earlier, or why none."""
        with self._lock:
            now = self.now()
            self._pass_time(now)
            known = None if wanted.key is None else self._store.of_key(wanted.key)
            if known is not None and now < (known.key_until or 0):
                is_same = known.request_hash == wanted.request_hash
                taken = Taken(known, is_replayed=True)
                return taken if is_same else Refused("key_reused")
            if wanted.expires_at is not None and now >= wanted.expires_at:
                return Refused("expired")
            if wanted.amount_minor > self._store.balance():
                return Refused("insufficient_balance")
            bought = self._taken(seq, wanted, course, now)
            told = None if course.becomes else self._callback(bought, course.copies)
            self._store.buy(bought, now, told)
            return Taken(bought)

    def _taken(self, seq: int, wanted: Wanted, course: Course, now: int) -> Bought:
        after = course.after_seconds
        is_timed = course.becomes is not None and after is not None
        return Bought(
            reference=f"pur_{uuid.uuid4().hex}",
            request=seq,
            key=wanted.key,
            request_hash=wanted.request_hash,
            key_until=None if wanted.key is None else now + self._key_lifetime_ms,
            state="accepted" if course.becomes else "delivered",
            code=None,
            due_at=now + int((after or 0) * _MS) if is_timed else None,
            becomes=course.becomes,
            order_id=wanted.order_id,
            product=wanted.product,
            units=wanted.units,
            recipient=wanted.recipient,
            amount_minor=wanted.amount_minor,
            currency=wanted.currency,
        )

    def look_up(self, key: str) -> Bought | None:
        """Return the latest purchase under that key, or of that reference."""
        with self._lock:
            self._pass_time(self.now())
            return self._store.of_key(key) or self._store.of_reference(key)

    def complete(self, name: str, state: str) -> bool:
        """End the accepted purchase of that key or reference; False: there is none.

        Raises:
            ValueError: the state is neither `delivered` nor `failed`.
        """
        if state not in ("delivered", "failed"):
            msg = "state must be delivered or failed"
            raise ValueError(msg)
        with self._lock:
            bought = self._store.of_key(name) or self._store.of_reference(name)
            return bought is not None and self._end(bought, state, self.now())

    def pass_time(self) -> None:
        """End the accepted purchases whose end is due."""
        with self._lock:
            self._pass_time(self.now())

    def _pass_time(self, now: int) -> None:
        for bought in self._store.due(now):
            self._end(bought, bought.becomes or "delivered", now)

    def _end(self, bought: Bought, state: str, now: int) -> bool:
        code = "out_of_stock" if state == "failed" else None
        callback = self._callback(replace(bought, state=state, code=code), 1)
        return self._store.end(bought, state, now, code=code, callback=callback)

    def _callback(self, bought: Bought, copies: int) -> dict[str, Any] | None:
        """Return what tells of a purchase's end; blind buyers hear nothing."""
        if self._signing_key is None or bought.key is None:
            return None
        document = {
            "type": f"purchase.{bought.state}",
            "timestamp": instant(self.now()),
            "data": purchase_document(bought),
        }
        return {"body": json.dumps(document), "copies": copies}

    def callbacks(self, key: str | None = None) -> list[dict[str, object]]:
        """Return the callbacks, each as often as it is sent, signed at this moment."""
        signing_key = self._signing_key
        if signing_key is None:
            return []
        with self._lock:
            told = self._store.callbacks(key)
            at = self.now() // _MS
        return [
            {
                "headers": signed_headers(
                    signing_key, f"evt_{each.seq}", at, each.body
                ),
                "body": each.body,
            }
            for each in told
            for _ in range(each.copies)
        ]

    def balance(self) -> int:
        """Return how much of the buyer's money is left."""
        with self._lock:
            return self._store.balance()

    def set_balance(self, minor: int) -> None:
        """Set how much of the buyer's money is left."""
        with self._lock:
            self._store.set_balance(minor)

    def counts(self) -> dict[str, int]:
        """Return how many requests and effects there were."""
        with self._lock:
            return self._store.counts()

    def close(self) -> None:
        """Let go of the ledger."""
        with self._lock:
            self._store.close()


def purchase_document(bought: Bought) -> dict[str, object]:
    """Return a purchase as the keyed dialect shows it."""
    document: dict[str, object] = {
        "reference": bought.reference,
        "key": bought.key,
        "orderId": bought.order_id,
        "state": bought.state,
        "amountMinor": bought.amount_minor,
        "currency": bought.currency,
    }
    return document if bought.code is None else {**document, "code": bought.code}


def instant(ms: int) -> str:
    """Return an instant as text."""
    text = datetime.fromtimestamp(ms / _MS, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
