"""The course of the trial: who may ask, the orders, two kills, and what it came to."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from deploy.trial.asking import LOST, PUT_OFF
from deploy.trial.following import Follower
from deploy.trial.judging import faults, is_over
from deploy.trial.letting_in import LetIn, let_in
from deploy.trial.orders import Order
from deploy.trial.probing import misgivings
from deploy.trial.sending import Ids, Shops
from deploy.trial.world import ROLES, TrialError, World, wait_until

_KILLED: Final = {"api": 0.2, "worker": 0.4}
"""Each role, and after which part of the orders."""
_REPEATED: Final = 5  # one order in so many is sent twice, one right after the other
_ORDERS_SECONDS: Final = 240.0
"""A killed worker's leases have to end first, after a minute."""
_PROBES_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 1.0
_SHOWN: Final = 20


def run(booted: AbstractContextManager[World], sent: tuple[Order, ...]) -> None:
    """Boot, try out, take down; print what has been seen.

    Raises:
        TrialError: something is not as it should be.
    """
    with booted as world:
        print(f"up: schema migrated, API and worker healthy, {world.address}")
        _require(world.confined)
        let = let_in(world)
        print("let in: the first owner by the operator token, a shop by her, and")
        print("  an operators' program by the command line")
        shops = Shops(let.shop, {it.order for it in sent[::_REPEATED]})
        ids = _sent(world, shops, sent)
        asked = _agreed(world, sent)
        shops.require_fulfilled(ids)
        print(f"{len(sent)} orders fulfilled once, as API, log and panel's book agree")
        print(f"  {world.log()['leases_ended']} leases ended with the killed worker")
        shops.send_again(sent, ids)
        _nothing_dead(let)
        if _agreed(world, sent) != asked:
            msg = "the panel was asked again for what was settled before"
            raise TrialError(msg)
        print("all of them sent again: replays, and nothing changed")
        _probed(world)
        _require(world.stop)
        print("stopped politely: every service ended with 0")


def _sent(world: World, shops: Shops, sent: tuple[Order, ...]) -> Ids:
    """Send all orders, kill meanwhile, and wait until the stream tells each end."""
    due = {role: part * len(sent) for role, part in _KILLED.items()}
    with Follower(shops.caller) as follower:
        with ThreadPoolExecutor(len(due), thread_name_prefix="kill") as hands:
            killer = _Killer(world, due, hands)
            ids = shops.send(sent, killer)
        killer.require_done()
        print(
            f"{len(ids)} orders settled over HTTP, {len(shops.repeated)} of them twice"
        )
        tally = shops.caller.tally
        print(
            f"  not answered and asked again: {tally[LOST]}, put off: {tally[PUT_OFF]}"
        )
        print(f"  killed: {', '.join(killer.told)}; both came back")
        follower.wait_for(ids.values(), _ORDERS_SECONDS)
    if follower.was_reset or not follower.resumed:
        msg = "the stream was not resumed where the API was killed"
        raise TrialError(msg)
    print(f"  the stream has told each one's end, resumed {follower.resumed} times")
    return ids


@dataclass(slots=True)
class _Killer:
    """Kills each role once, when so many orders are through; nobody waits for it."""

    world: World
    due: dict[str, float]
    hands: Executor
    told: list[str] = field(default_factory=list[str])
    under_way: "list[Future[None]]" = field(default_factory=list["Future[None]"])

    def __call__(self, through: int) -> None:
        """Kill whoever is due."""
        for role in [it for it, after in self.due.items() if through >= after]:
            del self.due[role]
            self.under_way.append(self.hands.submit(self.world.kill, role))
            self.told.append(f"{role} after {through} orders")

    def require_done(self) -> None:
        """Return if all were killed and run again.

        Raises:
            TrialError: one of them does not.
        """
        for killed in self.under_way:
            killed.result()


def _agreed(world: World, sent: tuple[Order, ...]) -> int:
    """Return what the panel was asked, once log and book say what was paid for."""
    wait_until(lambda: is_over(sent, world.log()), "all is done", _ORDERS_SECONDS)
    _require(lambda: list(faults(sent, world.log(), world.book())))
    return world.book()["asked"]


def _probed(world: World) -> None:
    for role in ROLES:
        wait_until(
            lambda role=role: world.is_healthy(role),  # type: ignore[misc]
            f"{role} is healthy",
            _PROBES_SECONDS,
        )
        # How the installation stands is looked up every few seconds.
        _require(
            lambda role=role: list(misgivings(role, world.listened(role))),  # type: ignore[misc]
            _PROBES_SECONDS,
        )
    print(f"probes and metrics of {' and '.join(ROLES)} say so too")


def _nothing_dead(let: LetIn) -> None:
    found = let.watch.ask("GET", "/v1/admin/dead-letters").require(200).body["items"]
    if found:
        msg = f"dead letters: {found[:_SHOWN]}"
        raise TrialError(msg)


def _require(wrong: Callable[[], Sequence[str]], patience_seconds: float = 0) -> None:
    """Go on as soon as nothing is wrong.

    Raises:
        TrialError: something is, and stays so.
    """
    give_up_at = time.monotonic() + patience_seconds
    while told := wrong():
        if time.monotonic() > give_up_at:
            msg = "\n  ".join(["", *told[:_SHOWN]])
            raise TrialError(msg)
        time.sleep(_LOOK_SECONDS)
