"""A provider whose requests are measured, by its slug."""

import re
import time
from dataclasses import dataclass
from typing import Final

from application.goods.port import (
    Balance,
    Capabilities,
    GoodsProvider,
    LookupAnswer,
    Purchase,
    SubmitAnswer,
    Unknown,
    Unsent,
)
from application.ports import CallGuard
from infrastructure.telemetry import measure
from infrastructure.telemetry.measures import ProviderAsked

_UNSUPPORTED: Final = "_unsupported"
_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class MeteredProvider:
    """Passes everything on; see `GoodsProvider`."""

    slug: str
    asked: GoodsProvider

    @property
    def capabilities(self) -> Capabilities:
        """See `GoodsProvider.capabilities`."""
        return self.asked.capabilities

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        """See `GoodsProvider.submit`."""
        began_at = time.monotonic()
        return self._told("submit", self.asked.submit(purchase, guard), began_at)

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        """See `GoodsProvider.look_up`."""
        began_at = time.monotonic()
        return self._told(
            "look_up", self.asked.look_up(key, reference, guard), began_at
        )

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        """See `GoodsProvider.balance`."""
        began_at = time.monotonic()
        return self._told("balance", self.asked.balance(guard), began_at)

    def _told[Answer](self, operation: str, answer: Answer, began_at: float) -> Answer:
        """Measure an answer, unless the provider was not asked at all."""
        is_unasked = isinstance(answer, Unsent) or (
            isinstance(answer, Unknown) and answer.code.endswith(_UNSUPPORTED)
        )
        if not is_unasked:
            outcome = _WORDS.sub("_", type(answer).__name__).lower()
            seconds = time.monotonic() - began_at
            measure(ProviderAsked(self.slug, operation, outcome, seconds))
        return answer
