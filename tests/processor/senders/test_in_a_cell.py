"""A suspect buys in a process of its own: that one is the sender, and it ends."""

import os

import msgspec

from application.goods.port import Confirmed, Unknown
from domain.goods.events import Sender
from domain.jobs.outcome import Completed
from infrastructure.processor.leases import Leases
from infrastructure.processor.senders.ended import has_ended
from infrastructure.processor.senders.identity import who_sends
from infrastructure.processor.suspects.cells import Cells
from infrastructure.processor.suspects.endings import ending_of, told
from infrastructure.processor.suspects.wire import Recipe
from tests.application.goods.world import BLIND, Seller, World
from tests.fixtures.workers import kind, until
from tests.processor.claims import claimed
from tests.processor.senders import recipes


def test_the_sender_is_the_cell_whose_end_is_proved_while_its_worker_lives() -> None:
    leases = Leases()
    cells = Cells(Recipe(recipes.__name__, "kinds"), leases)
    try:
        pairs = [(claimed(kind="sends", args="{}"), kind("sends", recipes.sends))]
        (held,) = leases.take(pairs, leases.now(), alone=True)
        ending = cells.run(held)
    finally:
        cells.close()

    assert isinstance(ending, Completed)
    sender = msgspec.convert(ending.result, Sender)
    me = who_sends(recipes.BOOT)
    assert sender.pid != os.getpid()
    assert (sender.machine, sender.boot) == (me.machine, recipes.BOOT)
    until(lambda: has_ended(sender))


def test_what_a_cell_says_of_a_delivery_arrives_whole() -> None:
    for answer in (Confirmed("r"), Unknown("http_502")):
        world = World(Seller(BLIND))
        world.seller.answers.append(answer)
        outcome = world.handle(world.claim())

        assert ending_of(told(outcome)) == outcome
