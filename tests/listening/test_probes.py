"""What each probe says, and when."""

from infrastructure.listening.check import Check, Flaw
from infrastructure.listening.probes import Probes
from infrastructure.telemetry.pulse import Pulse


def good(name: str) -> Check:
    return Check(name, lambda: None)


def bad(name: str) -> Check:
    return Check(name, lambda: Flaw.UNAVAILABLE)


def test_before_it_has_started_a_process_is_alive_and_nothing_else() -> None:
    probes = Probes()

    assert probes.alive().is_good
    assert probes.ready().checks == {"start": Flaw.STARTING}
    assert probes.started().checks == {"start": Flaw.STARTING}


def test_without_checks_a_process_is_never_ready() -> None:
    probes = Probes()

    probes.watch(pulses=(), ready=(), started=())

    assert probes.ready().checks == {"checks": Flaw.ABSENT}
    assert probes.started().checks == {"checks": Flaw.ABSENT}


def test_one_bad_check_is_enough() -> None:
    probes = Probes()

    probes.watch(pulses=(), ready=[good("pool"), bad("jobs")], started=[good("schema")])

    assert not probes.ready().is_good
    assert probes.ready().checks == {"pool": None, "jobs": Flaw.UNAVAILABLE}
    assert probes.started().is_good


def test_who_was_asked_to_stop_is_not_ready_at_once_and_stays_alive() -> None:
    probes = Probes()
    probes.watch(pulses=(), ready=[good("pool")], started=[good("schema")])
    assert probes.ready().is_good

    probes.drain()

    assert probes.ready().checks == {"draining": Flaw.DRAINING}
    assert probes.alive().is_good
    assert probes.started().is_good


def test_a_loop_that_is_stuck_is_named() -> None:
    now = [0.0]
    stuck, well = (Pulse(name, clock=lambda: now[0]) for name in ("claim", "settle"))
    probes = Probes()
    probes.watch(pulses=[stuck, well], ready=[good("pool")], started=())
    stuck.beat()
    now[0] += 100
    well.beat()

    # The thread that beat is this one, which waits for no database.
    assert probes.alive().checks == {"claim": Flaw.STUCK, "settle": None}
