"""A panel adapter of another package, behind the promise that it never raises.

What it raises, and what it returns that is no answer, becomes `Unknown`, code
`adapter_error`: nobody knows what the panel was asked, so the write is repeated.
"""

from collections.abc import Callable
from typing import Final, cast

import msgspec

from application.ports import (
    ADAPTER_ERROR,
    Access,
    CallGuard,
    Confirmed,
    Halted,
    LookAnswer,
    Misconfigured,
    Missing,
    Panel,
    PanelAnswer,
    Rejected,
    Shown,
    Unavailable,
    Unknown,
)
from infrastructure.errors import ExtensionError, where
from infrastructure.extensions.entry_points import PROVIDERS, REPAIR, entries, raised
from infrastructure.settings import Settings
from infrastructure.telemetry import emit

PANEL: Final = "panel"
"""The only provider that there is a port for."""


_UNCONFIRMED: Final = (Rejected, Unavailable, Unknown, Misconfigured, Halted)
_ANSWERS: Final = (Confirmed, *_UNCONFIRMED)
_LOOKS: Final = (Shown, Missing, *_UNCONFIRMED)


class GuardedPanel:
    """Somebody's adapter, shared by all worker threads of a process."""

    def __init__(self, panel: Panel, package: str) -> None:
        """Take the adapter, and the package that brings it."""
        self._panel = panel
        self.package = package

    def read(self, access: Access, request_id: str, guard: CallGuard) -> LookAnswer:
        """See `Panel.read`."""
        return _answered(lambda: self._panel.read(access, request_id, guard), _LOOKS)

    def carry_out(
        self,
        operation: str,
        access: Access,
        request_id: str,
        guard: CallGuard,
        *,
        requests_before: int = 0,
    ) -> PanelAnswer:
        """See `Panel.carry_out`."""

        def ask() -> PanelAnswer:
            return self._panel.carry_out(
                operation, access, request_id, guard, requests_before=requests_before
            )

        return _answered(ask, _ANSWERS)

    def close(self) -> None:
        """Close the adapter, if it can be closed."""
        close = getattr(self._panel, "close", None)
        if callable(close):
            try:
                close()
            except Exception as error:  # noqa: BLE001 - the provider's edge: it must not hide how the process ended
                emit("panel not closed", package=self.package, error=where(error))


def _answered[A](ask: Callable[[], A], kinds: tuple[type, ...]) -> A | Unknown:
    try:
        answer = ask()
        # Types are the adapter's promises: what breaks them could not be recorded.
        if not isinstance(answer, kinds):
            told = f"the adapter returned {type(answer).__name__}, which is no answer"
            return Unknown(ADAPTER_ERROR, told)
        msgspec.convert(msgspec.to_builtins(answer), type(answer))
    except BaseException as error:  # noqa: BLE001 - the provider's edge: never raises
        return Unknown(ADAPTER_ERROR, where(error))
    return answer


def find_panel(settings: Settings) -> GuardedPanel | None:
    """Return the adapter that a package brings in place of ours, or None.

    Raises:
        ExtensionError: it cannot be made, is none, or two packages bring one.
    """
    found = entries(PROVIDERS)
    for entry in found:
        if entry.point.name != PANEL:
            problem = "there is no such provider"
            raise entry.fault(problem, f"call the entry point {PANEL!r}")
    if not found:
        return None
    first, *others = found
    for entry in others:
        problem = f"the panel is brought by {first.package} as well"
        raise entry.fault(problem, "uninstall one of them")
    make = first.load()
    if not callable(make):
        problem = f"it leads to {type(make).__name__}"
        raise first.fault(problem, "let it be a function of the settings")
    try:
        panel: object = make(settings)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"its function raised {raised(error)}"
        raise first.fault(problem, REPAIR) from error
    _refuse_stranger(panel, first.fault)
    return GuardedPanel(cast("Panel", panel), first.package)


def _refuse_stranger(
    panel: object, fault: Callable[[str, str], ExtensionError]
) -> None:
    for method in _METHODS:
        if not callable(getattr(panel, method, None)):
            problem = f"{type(panel).__name__} has no method {method!r}"
            raise fault(problem, "see counterfoil.panel.Panel")


_METHODS: Final = tuple(
    sorted(name for name in vars(Panel) if not name.startswith("_"))
)
