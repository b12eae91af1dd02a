"""Whatever is written into a parameter of a read, the answer is one of ours.

Made of what is declared: a new route or parameter is asked in the same way.  Of a
function that answers on several surfaces one is asked.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote, unquote

from api.http.contract.listing import Operation
from api.http.surface import Surface
from domain.access.permissions import EVERY
from tests.fixtures.http import Api
from tests.http.access.matrix import LOCKED, Asked, Question, program
from tests.http.world import lived_in

SURROGATE: Final = "%ED%A0%80"
HOSTILE: Final[Mapping[str, str]] = {
    "NUL": "a%00b",
    "half a character": f"a{SURROGATE}b",
    "overlong": "a%C0%AFb",
    "very long": "x" * 10_000,
    "emoji": quote("👩‍👩‍👧"),
    "from the right": quote("\u202e\u200fabc\u202c"),
    "in a filter": f"state:%00{SURROGATE}",
    "of digits": "9" * 400,
}
READS: Final = {
    each.handler.fn: each
    for each in sorted(LOCKED, key=lambda each: each.surface is Surface.ADMIN)
    if each.declared.method == "GET"
}


def questions(
    asked: Asked, shown: Mapping[Surface, str], ids: Mapping[str, str]
) -> Iterator[tuple[str, Question]]:
    """Yield what to ask, and what it is."""
    for operation in READS.values():
        plain = asked.ask(operation, shown[operation.surface], ids=ids)
        for each in operation.parameters():
            for name, text in HOSTILE.items():
                told = f"{operation.path}: {each.where} {each.name}: {name}"
                if each.where == "query":
                    query = f"{each.name}={text}"
                    yield told, replace(plain, query=query)
                else:
                    path = {**ids, each.name: unquote(text)}
                    yield told, at(asked, operation, shown, path)


def at(
    asked: Asked,
    operation: Operation,
    shown: Mapping[Surface, str],
    path: Mapping[str, str],
) -> Question:
    return asked.ask(operation, shown[operation.surface], ids=path)


def test_no_text_in_a_parameter_of_a_read_is_a_fault_of_ours(api: Api) -> None:
    asked = Asked(api.services)
    shown = {
        surface: asked.known.knows(surface, program(surface, *EVERY))
        for surface in (Surface.SHOPS, Surface.ADMIN, Surface.PANEL)
    }
    with lived_in(api) as world:
        ids = {name: found[0] for name, found in world.known.items()}
        every = list(questions(asked, shown, ids))

        answers = asked.answers(question for _, question in every)

    faults = [
        f"{told} → {answer}"
        for (told, _), answer in zip(every, answers, strict=True)
        if answer.status >= 500
    ]
    assert not faults, "\n".join(faults)
