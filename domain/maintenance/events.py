"""Facts about one window of maintenance (a storage contract, see domain.event)."""

from typing import ClassVar

from domain.event import Event, Instant


class Opened(Event, frozen=True, kw_only=True):
    """Work behind the gates of `scope` waits from now on."""

    tag: ClassVar[str] = "maintenance.opened"
    scope: str
    """`panel`, `goods:` and a provider, or `all`."""
    source: str
    """Who noticed the need: `manual` is a person."""
    reason: str
    """For operators; the notices are for customers."""
    notice_ru: str
    notice_en: str
    expected_return: Instant | None
    """What customers may be told; nothing opens a gate by itself."""


class Closed(Event, frozen=True, kw_only=True):
    """The gates of the window's scope are open again, unless another holds them."""

    tag: ClassVar[str] = "maintenance.closed"


type MaintenanceEvent = Opened | Closed
