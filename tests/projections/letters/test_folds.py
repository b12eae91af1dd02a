"""The pure folds of dead letters and attempts, beside books that share no code."""

from typing import Any

import msgspec
from hypothesis import given

from domain.recorded import RecordedEvent
from infrastructure.postgres.codec import EVENT_CLASSES
from projections.read_models.attempts import STATUSES, Attempts
from projections.read_models.dead_letters import DeadLetters
from projections.read_models.projection import Key, Projection
from tests.projections.book import attempts as book_of_attempts
from tests.projections.book import dead_letters as book_of_letters
from tests.projections.letters.generated import streams, told


def folded(
    projection: Projection[Any], stream: list[RecordedEvent]
) -> dict[Key, dict[str, object]]:
    """Return the rows after every event, one at a time."""
    rows: dict[Key, msgspec.Struct] = {}
    for recorded in stream:
        if type(recorded.event) not in projection.events:
            continue
        for key in projection.keys(recorded):
            row = projection.fold(key, rows.pop(key, None), recorded)
            if row is not None:
                rows[key] = row
    return {key: msgspec.structs.asdict(row) for key, row in rows.items()}


@given(streams())
def test_letters_are_what_the_book_says(stream: list[RecordedEvent]) -> None:
    row = book_of_letters.row(list(told(stream)))

    rows = folded(DeadLetters(), stream)

    assert rows == ({} if row is None else {(stream[0].stream_id,): row})


@given(streams())
def test_attempts_are_what_the_book_says(stream: list[RecordedEvent]) -> None:
    book = {
        (each.stream_id, each.version): book_of_attempts.row(each)
        for each in told(stream)
    }

    assert folded(Attempts(), stream) == book


def test_attempts_tell_of_every_fact_of_work_and_goods() -> None:
    of_all = {
        event
        for tag, event in EVENT_CLASSES.items()
        if tag.startswith(("job.", "fulfillment.", "goods."))
    }

    assert set(STATUSES) == of_all
