"""The life of one installation: whatever may become of an order, one customer each."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from application.errors import ApplicationError
from application.operators.instruction import instruct
from infrastructure.processor.running import run
from infrastructure.projecting.switches import projections_over
from infrastructure.simulators.panel.book import BookedUser
from infrastructure.simulators.panel.faults import FaultRule
from tests.application.place import Place
from tests.fixtures.maintenance import Maintenance
from tests.fixtures.read_models import project
from tests.operators.deliveries.goods import Shop
from tests.operators.world import World

PUSHES = ("POST", "PATCH")
OUTAGE = FaultRule("error_before", methods=PUSHES)
REFUSAL = FaultRule("error_before", methods=PUSHES, status=400)
BAD_TOKEN = FaultRule("unauthorized")
LATER = "2099-01-01T00:00:00Z"


class Life:
    """Brings orders and access about, one customer at a time."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.connection = place.parts.connection
        self.lend = place.parts.pool.connection

    def project(self, most: int = 7) -> None:
        """Bring the read models up to the horizon, a few events at a time."""
        project(self.place.parts.pool, most=most)

    def settle(
        self,
        customer: str,
        kind: str = "purchase",
        **members: Any,  # noqa: ANN401
    ) -> None:
        """Settle the customer's order of the same name."""
        members = {"line": {"days": 30}, "customerId": customer} | members
        self.place.settle(members.pop("order_id", customer), kind, **members)

    def buy(self, customer: str, **members: Any) -> None:  # noqa: ANN401 - JSON
        """Settle an order, and do whatever is due."""
        self.settle(customer, **members)
        self.place.work()

    @contextmanager
    def while_(self, *faults: FaultRule) -> Iterator[None]:
        """Let requests to the panel go wrong."""
        self.place.panel.faults.set(*faults)
        yield
        self.place.panel.faults.set()

    def all_of_it(self) -> None:
        """Live through everything; in the end the panel is closed for maintenance."""
        self.of_access()
        self.of_drifts()
        self.of_money()
        self.of_waiting()
        self.of_goods()
        self.of_projections()

    def of_access(self) -> None:
        """Operators, allowed and refused."""
        for customer in ("ann", "paused", "disabled"):
            self.settle(customer)
        self.place.work()
        operate = self.place.operate
        operate("pause", "paused")
        operate("disable", "disabled")
        operate("set_limits", "ann", trafficBytes=5, deviceLimit=2)
        self.place.work()
        for operation, customer in (("pause", "paused"), ("resume", "ann")):
            with suppress(ApplicationError):
                operate(operation, customer)
        # One that comes later ends the disabling when it comes.
        self.settle("disabled", order_id="enabled-later", effectiveAt=LATER)
        operate("pause", "ann")
        self.place.work()
        operate("resume", "ann")
        self.place.work()

    def of_drifts(self) -> None:
        """One that is repaired, one that comes again, one that is still open."""
        self.buy("drifting")
        self.edit("drifting", trafficLimitBytes=1)
        with self.while_(OUTAGE):
            self.reconcile("drifting")
        self.edit("drifting", trafficLimitBytes=2)
        with self.while_(OUTAGE):
            self.retry_in(timedelta(minutes=5))
        self.retry_in(timedelta(minutes=20))
        self.edit("drifting", trafficLimitBytes=3, hwidDeviceLimit=7)
        with self.while_(OUTAGE):
            self.reconcile("drifting")

    def of_money(self) -> None:
        """Topups, refunds, and orders that cover each other."""
        self.buy("saver", kind="topup", line=None)
        self.buy("refunded")
        self.place.refund("refunded")
        self.place.work()
        self.settle("covered", kind="renewal")
        self.settle("covered", kind="renewal", order_id="covering")
        self.place.work()

    def of_waiting(self) -> None:
        """Every reason for which an order may not be delivered yet."""
        for customer, fault in (
            ("retry", OUTAGE),
            ("person", REFUSAL),
            ("cancelled", REFUSAL),
            ("parked", BAD_TOKEN),
        ):
            with self.while_(fault):
                self.buy(customer)
        self.place.cancel(self.operation("cancelled"))
        self.buy("later", effectiveAt=LATER)
        self.buy("nobody", kind="addon", line={"days": 7})
        self.settle("carried", kind="renewal")
        self.settle("carried", kind="renewal", order_id="carrier")
        with self.while_(OUTAGE):
            self.place.work()
        maintenance = Maintenance(self.place.database)
        maintenance.begin()
        self.buy("gated")
        maintenance.end()
        self.settle("running")
        self.run_next()
        (self.held,) = self.place.parts.claim(1, queue="critical")
        self.settle("turn")
        self.run_next()
        self.settle("fresh")

    def run_next(self) -> None:
        """Run the one job that is due."""
        (held,) = self.place.parts.claim(1, queue="critical")
        self.place.parts.settle(held, run(held, self.place.parts.leases))

    def of_goods(self) -> None:
        """One that is delivered, one that is refunded, and one that waits."""
        shop = Shop(World(self.place.parts.pool, self.connection))
        for verdict in ("delivered", "not_purchased"):
            shop.decide(shop.review(), verdict)
        shop.submit(shop.owe(has_job=False))

    def of_projections(self) -> None:
        """One is paused and resumed, and one that there is not."""
        pool, units = self.place.parts.pool, self.place.parts.store
        projections = projections_over(pool, units)
        said = instruct("bob", "it looked wrong")
        projections.pause("drifts", said)
        projections.resume("drifts", said)
        with suppress(ApplicationError):
            projections.pause("nothing", said)

    def edit(self, customer: str, **members: object) -> None:
        """Change the customer's user at the panel, behind everybody's back."""
        user = self.user(customer)
        self.place.at_the_panel("PATCH", "", id=user.id, **members)

    def reconcile(self, customer: str) -> None:
        self.place.operate("reconcile", customer)
        self.place.work()

    def retry_in(self, time: timedelta) -> None:
        self.place.database.advance(time)
        self.place.work()

    def user(self, customer: str) -> BookedUser:
        ((name,),) = self.connection.execute(
            "SELECT username FROM counterfoil.entitlements WHERE customer_id = %s",
            (customer,),
        ).fetchall()
        (user,) = (each for each in self.place.panel.users() if each.username == name)
        return user

    def operation(self, order_id: str) -> UUID:
        """Return the operation of an order."""
        ((found,),) = self.connection.execute(
            """
            SELECT o.stream_id
              FROM counterfoil.operations o
              JOIN counterfoil.orders b ON b.stream_id = o.order_stream_id
             WHERE b.order_id = %s
            """,
            (order_id,),
        ).fetchall()
        assert isinstance(found, UUID)
        return found
