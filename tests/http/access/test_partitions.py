"""Whose requests are counted together: nobody escapes by another address of his own."""

from dataclasses import replace
from typing import Final

import pytest

from api.http.app import every_operation
from api.http.contract.listing import Operation
from api.http.surface import Surface
from domain.access.permissions import EVERY
from domain.access.roles import Role
from tests.fixtures.http import Api
from tests.http.access.matrix import Asked, person

NEIGHBOURS: Final = ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1")
READ_ME, TAKE_CALLBACK = (
    next(each for each in every_operation() if each.handler.fn.__name__ == name)
    for name in ("read_me", "take_callback")
)


@pytest.mark.parametrize("operation", [READ_ME, TAKE_CALLBACK], ids=["panel", "hooks"])
def test_the_addresses_of_one_site_are_counted_as_one(
    api: Api, operation: Operation
) -> None:
    asked = Asked(api.services)
    shown = asked.known.knows(Surface.PANEL, person(Role.OWNER, EVERY))
    question = asked.ask(operation, shown)

    asked.answers(replace(question, address=address) for address in NEIGHBOURS)

    first, second, other = asked.known.partitions
    assert first == second != other
