"""What is answered about maintenance."""

import msgspec

from api.http.wire.values import Moment, Position, moment, moment_if, position
from projections.maintenance import MaintenancePage, WindowLine


class WindowView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One open window."""

    id: str
    scope: str
    source: str
    reason: str
    notice_ru: str
    notice_en: str
    expected_return_at: Moment | None
    opened_by: str
    opened_at: Moment


class MaintenanceView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is closed now."""

    active: bool
    """Whether anything is."""
    now: Moment
    windows: tuple[WindowView, ...]
    held_jobs: int
    """Jobs that wait for the end of it."""


class ChangedMaintenanceView(
    MaintenanceView, frozen=True, kw_only=True, rename="camel"
):
    """What is closed after somebody has said so."""

    events: tuple[str, ...]
    """Tags of what was written; none: it was so already."""
    position: Position


def maintenance_view(page: MaintenancePage) -> MaintenanceView:
    """Return what is closed."""
    return MaintenanceView(
        active=bool(page.windows),
        now=moment(page.now),
        windows=tuple(_window(line) for line in page.windows),
        held_jobs=page.held_jobs,
    )


def changed_view(
    page: MaintenancePage, events: tuple[str, ...], at: int
) -> ChangedMaintenanceView:
    """Return what is closed, and what was written."""
    shown = msgspec.structs.asdict(maintenance_view(page))
    return ChangedMaintenanceView(**shown, events=events, position=position(at))


def _window(line: WindowLine) -> WindowView:
    return WindowView(
        id=str(line.window_id),
        scope=line.scope,
        source=line.source,
        reason=line.reason,
        notice_ru=line.notice_ru,
        notice_en=line.notice_en,
        expected_return_at=moment_if(line.expected_return),
        opened_by=line.opened_by,
        opened_at=moment(line.opened_at),
    )
