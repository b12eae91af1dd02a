"""Decide and evolve: one window of maintenance, a stream of its own.

            Open            Close
 (unborn) ────────► open ──────────► closed ■

A scope that is closed for maintenance again gets a new window: a new episode.
"""

from enum import StrEnum
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from domain.errors import IllegalTransitionError, InvalidRequestError
from domain.event import Instant
from domain.maintenance.events import Closed, MaintenanceEvent, Opened
from domain.stream import State

MANUAL: Final = "manual"
"""The source of a window that a person opened."""


class Stage(StrEnum):
    """Where a window is in its life; the stored words."""

    UNBORN = "unborn"
    OPEN = "open"
    CLOSED = "closed"


class MaintenanceWindow(State, frozen=True, kw_only=True):
    """What the rules remember of one window; the head's folded columns."""

    stage: Stage = Stage.UNBORN
    scope: str = ""
    source: str = ""
    reason: str = ""
    notice_ru: str = ""
    notice_en: str = ""
    expected_return: Instant | None = None


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever opens a window says about it."""

    scope: str
    reason: str
    notice_ru: str
    notice_en: str
    expected_return: Instant | None = None


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """Close the gates of a scope."""

    said: Announcement
    at: Instant


class Close(msgspec.Struct, frozen=True):
    """Open the gates of the window's scope again."""


type MaintenanceCommand = Open | Close


def decide(
    window: MaintenanceWindow, command: MaintenanceCommand
) -> tuple[MaintenanceEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
        InvalidRequestError: the return is expected before the window opens.
    """
    match command:
        case Open():
            return _open(window, command)
        case Close():
            if window.stage is Stage.UNBORN:
                raise _refused(window, "close")
            return (Closed(),) if window.stage is Stage.OPEN else ()
        case _:
            assert_never(command)


def _open(window: MaintenanceWindow, command: Open) -> tuple[MaintenanceEvent, ...]:
    said = command.said
    if window.stage is Stage.OPEN and said_of(window) == said:
        return ()
    if window.stage is not Stage.UNBORN:
        raise _refused(window, "open")
    if said.expected_return is not None and said.expected_return <= command.at:
        code, path = "return_not_later", "expectedReturn"
        rule = f"later than now, {command.at:%Y-%m-%dT%H:%M:%SZ}"
        raise InvalidRequestError(code, path, rule)
    return (
        Opened(
            scope=said.scope,
            source=MANUAL,
            reason=said.reason,
            notice_ru=said.notice_ru,
            notice_en=said.notice_en,
            expected_return=said.expected_return,
        ),
    )


def said_of(window: MaintenanceWindow) -> Announcement:
    """Return what was said when the window was opened."""
    return Announcement(
        scope=window.scope,
        reason=window.reason,
        notice_ru=window.notice_ru,
        notice_en=window.notice_en,
        expected_return=window.expected_return,
    )


def _refused(window: MaintenanceWindow, command: str) -> IllegalTransitionError:
    return IllegalTransitionError(window.stage, command, stream="maintenance window")


def evolve(window: MaintenanceWindow, event: MaintenanceEvent) -> MaintenanceWindow:
    """Return the state after `event`.  Total: history is never rejected."""
    version = window.version + 1
    match event:
        case Opened():
            return MaintenanceWindow(
                version=version,
                stage=Stage.OPEN,
                scope=event.scope,
                source=event.source,
                reason=event.reason,
                notice_ru=event.notice_ru,
                notice_en=event.notice_en,
                expected_return=event.expected_return,
            )
        case Closed():
            return replace(window, version=version, stage=Stage.CLOSED)
        case _:
            assert_never(event)
