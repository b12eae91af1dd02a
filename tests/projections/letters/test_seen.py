"""What people say of dead letters: seen to, or not to be seen to any more."""

from uuid import UUID

from msgspec.structs import replace

from domain.event import Actor, Meta
from domain.jobs import events as jobs
from domain.operators.events import LetterAcknowledged, LetterDismissed
from domain.recorded import RecordedEvent
from infrastructure.ids import new_id
from projections.read_models.dead_letters import DeadLetters
from projections.read_models.letter_row import LetterRow
from tests.golden.pinned import PINNED
from tests.projections.letters.generated import BEGAN

JOB = UUID("01a229de-243f-785e-ac45-5c0271bf6896")


def folded(*said: type[LetterAcknowledged | LetterDismissed] | str) -> LetterRow:
    """Return the letter of a job that died, after what was said of it."""
    model, row = DeadLetters(), None
    died = PINNED["job.discarded", 1]
    born = replace(PINNED["job.enqueued", 1], kind="report", unique_key=None)
    events = [born, died]
    for each in said:
        again = (PINNED["job.retried", 1], died) if isinstance(each, str) else ()
        events += again or (each(letter=JOB),)  # type: ignore[operator]
    for n, event in enumerate(events, 1):
        is_said = isinstance(event, LetterAcknowledged | LetterDismissed)
        recorded = RecordedEvent(
            position=n,
            tenant_id="default",
            stream_id=new_id() if is_said else JOB,
            version=1 if is_said else n,
            recorded_at=BEGAN,
            tag=event.tag,
            schema=event.schema,
            event=event,
            meta=Meta(actor=Actor("operator", "ann"), correlation_id="x"),
        )
        assert model.keys(recorded) == ((JOB,),)
        row = model.fold((JOB,), row, recorded)
    assert row is not None
    return row


def test_who_sees_to_it_is_told_and_it_stays() -> None:
    row = folded(LetterAcknowledged)

    assert (row.state, row.acknowledged_by, row.acknowledged_at) == (
        *("open", "ann", BEGAN),
    )


def test_what_is_dismissed_is_no_letter_any_more() -> None:
    row = folded(LetterDismissed)

    assert (row.state, row.ended_how, row.ended_by) == ("ended", "dismissed", "ann")
    assert folded(LetterDismissed, LetterAcknowledged).acknowledged_by is None


def test_what_dies_again_is_a_new_letter_that_nobody_has_seen() -> None:
    row = folded(LetterAcknowledged, LetterDismissed, "again")

    assert (row.state, row.ended_how, row.acknowledged_by) == ("open", None, None)
    assert isinstance(PINNED["job.discarded", 1], jobs.Discarded)
