"""What waits to be published, exactly, whoever publishes and however it is read."""

from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.errors import InvalidRequestError
from projections.read_models.all import BY_NAME
from tests.fixtures.read_models import assert_read_model_holds
from tests.projections.outbox.conftest import Outbox

pytestmark = pytest.mark.database

BY_HAND = """
SELECT o.topic, count(*), min(e.recorded_at)
  FROM counterfoil.outbox o JOIN counterfoil.events e USING (position)
 WHERE o.published_at IS NULL
 GROUP BY o.topic
"""


def by_hand(outbox: Outbox) -> dict[str, tuple[int, datetime]]:
    """Return what waits, counted one by one."""
    found = outbox.connection.execute(BY_HAND).fetchall()
    return {topic: (count, oldest) for topic, count, oldest in found}


def told(outbox: Outbox) -> dict[str, tuple[int, datetime]]:
    """Return what waits, as the query says."""
    page = outbox.now()
    assert page.relation == "eq"
    assert page.pending_count == sum(each.pending_count for each in page.topics)
    return {
        each.topic: (
            each.pending_count,
            page.as_of.at - timedelta(seconds=each.oldest_age_seconds),
        )
        for each in page.topics
        if each.oldest_age_seconds is not None
    }


def assert_exact(outbox: Outbox) -> None:
    said, counted = told(outbox), by_hand(outbox)
    assert {topic: n for topic, (n, _) in said.items()} == {
        topic: n for topic, (n, _) in counted.items()
    }
    for topic, (_, oldest) in counted.items():
        assert abs(said[topic][1] - oldest) < timedelta(milliseconds=1)


def test_nothing_waits_in_an_empty_outbox(outbox: Outbox) -> None:
    page = outbox.now()

    assert (page.pending_count, page.oldest_age_seconds) == (0, None)
    assert {each.pending_count for each in page.topics} == {0}
    assert len(page.topics) == 15


def test_what_nobody_has_projected_yet_is_counted_from_the_log(outbox: Outbox) -> None:
    outbox.tell(times=3, ago=timedelta(minutes=5))

    assert_exact(outbox)
    outbox.project()
    assert_exact(outbox)


def test_all_that_was_published_waits_no_more(outbox: Outbox) -> None:
    outbox.tell(times=3)
    outbox.project()

    outbox.publish()

    page = outbox.now("job.succeeded")
    assert (page.pending_count, page.oldest_age_seconds) == (0, None)
    assert [each.recorded_count for each in page.topics] == [3]


def test_a_message_that_is_deleted_waits_no_more(outbox: Outbox) -> None:
    outbox.tell(times=3)
    outbox.project()
    outbox.publish("position = (SELECT min(position) FROM counterfoil.outbox)")

    outbox.connection.execute("DELETE FROM counterfoil.outbox")

    assert outbox.now().pending_count == 0


def test_a_message_that_is_taken_back_waits_again(outbox: Outbox) -> None:
    outbox.tell(times=3)
    outbox.project()
    outbox.publish()

    outbox.connection.execute("UPDATE counterfoil.outbox SET published_at = NULL")

    assert_exact(outbox)
    assert outbox.now().pending_count == 3


def test_the_oldest_is_found_behind_any_number_of_published_ones(
    outbox: Outbox,
) -> None:
    outbox.tell(times=200, ago=timedelta(days=4), apart=timedelta(minutes=20))
    outbox.tell(times=5, ago=timedelta(minutes=3), apart=timedelta(seconds=1))
    outbox.project()
    outbox.publish("position <> 203")

    assert_exact(outbox)


def test_each_tenant_has_its_own_and_all_have_the_sum(outbox: Outbox) -> None:
    outbox.tell(times=2, tenant="ann")
    outbox.tell(times=3, tenant="bob", ago=timedelta(hours=2))
    outbox.project()
    outbox.publish("tenant_id = 'bob' AND position = 3")

    ann, bob = outbox.now(tenant="ann"), outbox.now(tenant="bob")

    assert (ann.pending_count, bob.pending_count) == (2, 2)
    assert outbox.now().pending_count == 4
    assert ann.oldest_age_seconds is not None
    assert ann.oldest_age_seconds < 3600 < (bob.oldest_age_seconds or 0)


def test_what_nobody_can_decode_has_a_message_too(outbox: Outbox) -> None:
    outbox.tell("job.cancelled", times=2, ago=timedelta(hours=5))
    outbox.project()
    outbox.publish("position = 1")

    ((aside,),) = outbox.connection.execute(
        "SELECT count(*) FROM counterfoil.projection_set_aside"
    ).fetchall()
    assert aside == 2
    assert_exact(outbox)


def test_a_topic_that_there_is_not_is_refused_by_name(outbox: Outbox) -> None:
    with pytest.raises(InvalidRequestError, match=r"topic: .*order\.paid"):
        outbox.now("order.lost")


def test_a_tenant_that_there_cannot_be_is_refused_by_name(outbox: Outbox) -> None:
    with pytest.raises(InvalidRequestError, match="tenant: "):
        outbox.now(tenant="\ud800")


STEPS = st.one_of(
    st.tuples(
        st.just("tell"),
        st.sampled_from(["job.succeeded", "job.discarded"]),
        st.integers(1, 4),
        st.integers(0, 3 * 24 * 60),
    ),
    st.tuples(st.just("publish"), st.integers(1, 4), st.integers(0, 3)),
    st.tuples(st.just("delete"), st.integers(1, 6), st.integers(0, 5)),
    st.just(("project",)),
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=3, max_size=14))
def test_in_whatever_order_it_is_recorded_published_and_read(
    outbox: Outbox, steps: list[tuple[object, ...]]
) -> None:
    outbox.empty()
    for step in steps:
        match step:
            case ("tell", str(topic), int(times), int(minutes)):
                outbox.tell(topic, times=times, ago=timedelta(minutes=minutes))
            case ("publish", int(share), int(part)):
                outbox.publish(f"position % {share} = {part}")
            case ("delete", int(share), int(part)):
                outbox.connection.execute(
                    "DELETE FROM counterfoil.outbox WHERE position %% %s = %s",
                    (share, part),
                )
            case _:
                outbox.project()
    assert_exact(outbox)
    assert_read_model_holds(outbox.connection, BY_NAME["outbox_lag"])
