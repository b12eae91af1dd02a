"""An order that is decided late takes back nothing that a person has changed since."""

from datetime import timedelta

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from application.errors import StateConflictError
from domain.entitlement.state import Desired
from domain.entitlement.timeline import Standing, in_force, standing
from domain.order.events import AddonLine
from tests.application.memory import START
from tests.application.shop import Shop, access_line

SQUADS = (
    "11111111-1111-4111-8111-111111111111",
    "22222222-2222-4222-8222-222222222222",
)
GIB = 2**30


@pytest.fixture
def shop() -> Shop:
    """A customer with 30 days; whatever is asked for takes a minute."""
    shop = Shop()
    shop.run(shop.job_of(shop.buy(access_line(device_limit=1, traffic_bytes=GIB))))
    shop.wait(minutes=1)
    return shop


def owed(shop: Shop) -> Desired:
    desired = in_force(shop.entitlement, shop.log.now)
    assert desired is not None
    return desired


def upgrade(shop: Shop, **members: object) -> None:
    """Pay for it; nobody decides it yet."""
    line = access_line(
        traffic_bytes=9 * GIB, device_limit=9, squad_ids=(SQUADS[0],), **members
    )
    shop.pay(line, kind="upgrade")
    shop.wait(minutes=1)


def test_the_limit_that_a_person_has_set_stays_and_the_others_are_delivered(
    shop: Shop,
) -> None:
    upgrade(shop)
    shop.operate("set_limits", deviceLimit=5)

    shop.fan_out_all()

    desired = owed(shop)
    assert (desired.device_limit, desired.traffic_bytes) == (5, 9 * GIB)
    assert desired.squad_ids == (SQUADS[0],)
    assert desired.ends_at == START + timedelta(days=60)


def test_the_squads_that_a_person_has_set_stay(shop: Shop) -> None:
    upgrade(shop)
    shop.operate("set_squads", squadIds=[SQUADS[1]])

    shop.fan_out_all()

    assert owed(shop).squad_ids == (SQUADS[1],)
    assert owed(shop).device_limit == 9


def test_an_end_that_a_person_has_set_is_not_shortened(shop: Shop) -> None:
    end = START + timedelta(days=90)
    upgrade(shop, days=None, ends_at=START + timedelta(days=60))
    shop.operate("extend", endsAt=end.isoformat())

    shop.fan_out_all()

    assert owed(shop).ends_at == end
    assert owed(shop).device_limit == 9


def test_who_was_disabled_after_the_payment_stays_so_and_keeps_its_days(
    shop: Shop,
) -> None:
    upgrade(shop)
    shop.operate("disable")

    shop.fan_out_all()
    shop.run_all()

    assert standing(shop.entitlement, shop.log.now) is Standing.DISABLED
    assert shop.user.observed.status == "DISABLED"
    assert owed(shop).ends_at == START + timedelta(days=60)


def test_a_refund_after_the_payment_has_the_last_word_too(shop: Shop) -> None:
    upgrade(shop)
    shop.run(shop.refund("o1"))

    shop.fan_out_all()

    assert standing(shop.entitlement, shop.log.now) is Standing.DISABLED


def test_a_payment_after_the_change_has_the_last_word(shop: Shop) -> None:
    shop.operate("set_limits", deviceLimit=5)
    shop.operate("disable")
    shop.wait(minutes=1)
    upgrade(shop)

    shop.fan_out_all()

    assert owed(shop).device_limit == 9
    assert standing(shop.entitlement, shop.log.now) is Standing.ACTIVE


def test_an_add_on_that_is_decided_late_keeps_what_a_person_has_set(
    shop: Shop,
) -> None:
    line = AddonLine(line=1, type="access", days=7, device_limit=3, squad_ids=SQUADS)
    shop.pay(addon=line)
    shop.wait(minutes=1)
    shop.operate("set_limits", deviceLimit=5)

    shop.fan_out_all()

    assert (owed(shop).device_limit, owed(shop).squad_ids) == (5, SQUADS)
    assert owed(shop).ends_at == START + timedelta(days=37)


STEPS = st.lists(
    st.sampled_from(
        ["pay", "add", "deviceLimit", "trafficBytes", "set_squads", "disable", "enable"]
    ),
    max_size=8,
)


def lived(steps: list[str], *, is_late: bool) -> tuple[Desired, Standing]:
    """Return what is owed after all of it, orders decided in time or at the end."""
    shop = Shop()
    shop.buy(access_line(device_limit=1, traffic_bytes=GIB))
    for n, step in enumerate(steps, start=2):
        shop.wait(minutes=1)
        _done(shop, step, n)
        if not is_late:
            shop.fan_out_all()
    shop.fan_out_all()
    return owed(shop), standing(shop.entitlement, shop.log.now)


def _done(shop: Shop, step: str, n: int) -> None:
    """Do one thing; each number occurs once."""
    match step:
        case "pay":
            squads = (SQUADS[n % 2],)
            line = access_line(device_limit=n, traffic_bytes=n, squad_ids=squads)
            shop.pay(line, kind="renewal")
        case "add":
            shop.pay(addon=AddonLine(line=1, type="access", device_limit=n))
        case "deviceLimit" | "trafficBytes":
            shop.ask("set_limits", None, **{step: n})
        case "set_squads":
            shop.ask(step, None, squadIds=[f"{SQUADS[0][:-1]}{n}"])
        case _:
            try:
                shop.ask(step)
            except StateConflictError:
                reject()  # disabled already: a person who is refused changes nothing


@given(STEPS)
def test_when_orders_are_decided_makes_no_difference(steps: list[str]) -> None:
    assert lived(steps, is_late=True) == lived(steps, is_late=False)
