"""A panel adapter of another package: how it is found, and that it never raises."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NoReturn, cast

import pytest

from counterfoil.panel import (
    Access,
    CallGuard,
    Confirmed,
    Desired,
    Halted,
    LookAnswer,
    Misconfigured,
    Missing,
    Observed,
    PanelAnswer,
    Rejected,
    Shown,
    Sight,
    Unavailable,
    Unknown,
)
from infrastructure.errors import ExtensionError
from infrastructure.extensions.extensions import Extensions
from infrastructure.extensions.panel import GuardedPanel
from infrastructure.settings import Settings
from infrastructure.telemetry import listen
from tests.extensions.source import MAIL
from tests.fixtures.packages import Packages
from tests.fixtures.workers import Events

SETTINGS = Settings(panel_username_prefix="acme_")
LATER = datetime(2030, 1, 1, tzinfo=UTC)
ACCESS = Access(
    username="acme_1",
    legacy_username=None,
    panel_user_id=None,
    desired=Desired(ends_at=LATER),
    at=LATER - timedelta(days=30),
)
SEEN = Observed(
    panel_user_id=7,
    status="ACTIVE",
    expire_at=LATER,
    traffic_limit_bytes=0,
    device_limit=None,
    squads=0,
)

PANEL = """
class Adapter:
    def __init__(self, settings):
        self.prefix = settings.panel_username_prefix

    def read(self, access, request_id, guard):
        raise RuntimeError("token=hunter2")

    def carry_out(self, operation, access, request_id, guard, *, requests_before=0):
        raise RuntimeError("token=hunter2")
"""


class Guard:
    def may_begin(self) -> bool:
        return True


@dataclass
class Adapter:
    """Answers what it is told, right or wrong."""

    answer: Callable[[], object]

    def read(self, access: Access, request_id: str, guard: CallGuard) -> LookAnswer:
        assert (access, request_id) == (ACCESS, "op.1")
        assert guard.may_begin()
        return cast("LookAnswer", self.answer())

    def carry_out(
        self,
        operation: str,
        access: Access,
        request_id: str,
        guard: CallGuard,
        *,
        requests_before: int = 0,
    ) -> PanelAnswer:
        assert (operation, access, request_id) == ("pause", ACCESS, "op.1")
        assert requests_before == 2
        assert guard.may_begin()
        return cast("PanelAnswer", self.answer())


def asked(answer: Callable[[], object]) -> PanelAnswer:
    """Return what a handler is told by an adapter that answers so."""
    return GuardedPanel(Adapter(answer), "acme").carry_out(
        "pause", ACCESS, "op.1", Guard(), requests_before=2
    )


def looked(answer: Callable[[], object]) -> LookAnswer:
    """Return what a handler is told by an adapter that sees so."""
    return GuardedPanel(Adapter(answer), "acme").read(ACCESS, "op.1", Guard())


@pytest.mark.parametrize(
    "answer",
    [
        Confirmed(SEEN),
        Rejected("acme_400", "no"),
        Unavailable("acme_503", retry_after_seconds=3.5),
        Unknown("acme_timeout"),
        Misconfigured("panel_credentials"),
        Halted("no time", 1),
    ],
)
def test_an_answer_passes_as_it_is(answer: PanelAnswer) -> None:
    assert asked(lambda: answer) is answer


@pytest.mark.parametrize(
    "answer",
    [
        Shown(Sight(SEEN, ("11111111-1111-4111-8111-111111111111",)), 1),
        Missing("nobody", 2),
        Unavailable("acme_503"),
        Misconfigured("panel_credentials"),
        Halted("no time", 1),
    ],
)
def test_a_look_passes_as_it_is(answer: LookAnswer) -> None:
    assert looked(lambda: answer) is answer


def test_an_answer_to_another_question_is_none() -> None:
    assert isinstance(asked(lambda: Missing("nobody", 1)), Unknown)
    assert isinstance(looked(lambda: Confirmed(SEEN)), Unknown)


def stumble() -> NoReturn:
    msg = "token=hunter2"
    raise RuntimeError(msg)


def leave() -> NoReturn:
    raise SystemExit(3)


class Skipped(BaseException):
    """Of those that `except Exception` does not meet."""


def skip() -> NoReturn:
    raise Skipped


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (stumble, "RuntimeError at test_panel.py:"),
        (leave, "SystemExit at test_panel.py:"),
        (skip, "Skipped at test_panel.py:"),
        (lambda: None, "the adapter returned NoneType"),
        (lambda: "ok", "the adapter returned str"),
        (lambda: Confirmed(cast("Observed", None)), "ValidationError"),
        (lambda: Rejected(cast("str", 400)), "ValidationError"),
        (lambda: Unavailable("x", retry_after_seconds=cast("float", "3")), "Validat"),
    ],
)
def test_what_is_no_answer_counts_as_unknown(
    answer: Callable[[], object], told: str
) -> None:
    """I12: the place of the fault is told, no value of the adapter's."""
    got = asked(answer)

    assert isinstance(got, Unknown)
    assert got.code == "adapter_error"
    assert told in got.detail
    assert "hunter2" not in got.detail


@pytest.mark.parametrize(
    "answer", [stumble, leave, lambda: None, lambda: Shown(cast("Sight", None), 1)]
)
def test_what_is_no_look_counts_as_unknown(answer: Callable[[], object]) -> None:
    got = looked(answer)

    assert isinstance(got, Unknown)
    assert got.code == "adapter_error"
    assert "hunter2" not in got.detail


def test_an_adapter_is_closed_with_its_worker_if_it_can_be() -> None:
    closed: list[bool] = []

    class Closing(Adapter):
        def close(self) -> None:
            closed.append(True)

    GuardedPanel(Closing(stumble), "acme").close()
    GuardedPanel(Adapter(stumble), "acme").close()

    assert closed == [True]


def test_an_adapter_that_cannot_be_closed_is_told_of() -> None:
    class Stuck(Adapter):
        def close(self) -> None:
            stumble()

    events = Events()
    with listen(events.add):
        GuardedPanel(Stuck(stumble), "acme 1.0.0").close()

    (told,) = events.of("panel not closed", package="acme 1.0.0")
    assert told["error"].startswith("RuntimeError at")


def test_a_package_brings_the_panel(packages_here: Packages) -> None:
    packages_here.add_groups("acme-panel", PANEL, {"providers": {"panel": "Adapter"}})

    extensions = Extensions(SETTINGS)
    extensions.require()
    panel = extensions.panel

    assert panel is not None
    assert panel.package == "acme-panel 1.0.0"
    assert isinstance(panel.read(ACCESS, "op.1", Guard()), Unknown)


def test_an_adapter_is_made_for_workers_only(packages_here: Packages) -> None:
    packages_here.add_groups("acme-panel", PANEL, {"providers": {"panel": "Adapter"}})

    extensions = Extensions(SETTINGS)

    assert extensions.kinds == {}
    assert extensions.panel is None


@pytest.mark.parametrize(
    ("source", "entry", "told"),
    [
        (PANEL, "shop", "there is no such provider; call the entry point 'panel'"),
        ("import missing_module", "panel", "ModuleNotFoundError"),
        ("Adapter = 3", "panel", "it leads to int; let it be a function"),
        ("Adapter = lambda settings: None", "panel", "NoneType has no method"),
        ("def Adapter(settings): raise ValueError('no')", "panel", "ValueError: no"),
        ("def Adapter(settings): raise SystemExit", "panel", "raised SystemExit"),
    ],
)
def test_a_provider_that_is_broken_is_told_with_the_remedy(
    packages_here: Packages, source: str, entry: str, told: str
) -> None:
    packages_here.add_groups("acme-panel", source, {"providers": {entry: "Adapter"}})

    with pytest.raises(ExtensionError) as refused:
        Extensions(SETTINGS).require()

    words = str(refused.value)
    assert f"acme-panel 1.0.0, entry point counterfoil.providers:{entry}: " in words
    assert told in words


def test_two_packages_cannot_both_bring_the_panel(packages_here: Packages) -> None:
    for name in ("acme-panel", "other-panel"):
        packages_here.add_groups(name, PANEL, {"providers": {"panel": "Adapter"}})

    with pytest.raises(ExtensionError) as refused:
        Extensions(SETTINGS).require()

    told = str(refused.value)
    assert "package other-panel 1.0.0" in told
    assert "the panel is brought by acme-panel 1.0.0 as well" in told


def test_no_adapter_is_made_beside_a_broken_kind(packages_here: Packages) -> None:
    """Nothing is half loaded."""
    source = PANEL + "made = []\ndef make(settings):\n    made.append(1)\n"
    packages_here.add_groups("acme-panel", source, {"providers": {"panel": "make"}})
    packages_here.add("acme-mail", MAIL + "MAIL = None\n", mail="MAIL")

    extensions = Extensions(SETTINGS)
    with pytest.raises(ExtensionError, match="acme-mail"):
        extensions.require()

    assert extensions.panel is None
