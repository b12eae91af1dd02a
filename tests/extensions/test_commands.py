"""What an operator sees of other packages, and what a worker runs of them."""

from importlib import import_module
from typing import Any

import psycopg
import pytest

from domain.errors import InvalidRequestError
from infrastructure.client import Client
from tests.api.command import Command
from tests.extensions.source import KIND, MAIL
from tests.extensions.test_panel import PANEL
from tests.fixtures.database import TestDatabase
from tests.fixtures.packages import Packages
from tests.fixtures.workers import enqueue, facts, history, is_over, until

pytestmark = pytest.mark.database

READY = '"event": "worker started"'
BROKEN = "package broken 1.0.0, entry point counterfoil.kinds:bad: ModuleNotFoundError"
ORDER = {
    "orderId": "order-1",
    "customerId": "customer-1",
    "kind": "purchase",
    "currency": "EUR",
    "amountMinor": 1299,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


def last(connection: psycopg.Connection[Any], tag: str) -> list[dict[str, Any]]:
    rows = connection.execute(
        "SELECT data FROM counterfoil.events WHERE type = %s ORDER BY position", (tag,)
    )
    return [row[0] for row in rows]


def test_kinds_are_listed_without_a_database(
    nowhere: Command, packages: Packages
) -> None:
    packages.add("acme-mail", MAIL, mail="MAIL")

    listed = nowhere("kinds")
    lines = nowhere("kinds", "--json").documents

    assert (listed.code, listed.err) == (0, "")
    (row,) = (line for line in listed.out.splitlines() if line.startswith("mail "))
    assert " ".join(row.split()) == "mail acme-mail 1.0.0 bulk 3 60 s 60 s"
    assert [line["kind"] for line in lines] == sorted(line["kind"] for line in lines)
    assert {
        "kind": "mail",
        "package": "acme-mail 1.0.0",
        "queue": "bulk",
        "maxAttempts": 3,
        "leaseSeconds": 60,
        "deadlineSeconds": 60,
    } in lines
    assert {line["package"] for line in lines} == {"counterfoil", "acme-mail 1.0.0"}


def test_kinds_that_are_wrong_are_told_beside_those_that_are_right(
    nowhere: Command, packages: Packages
) -> None:
    packages.add("acme-mail", MAIL, mail="MAIL")
    packages.add("broken", "import missing_module", bad="BAD")

    listed = nowhere("kinds", "--json")

    assert listed.code == 1
    assert "mail" in {line["kind"] for line in listed.documents}
    assert BROKEN in listed.err


@pytest.mark.parametrize("command", ["worker", "up"])
def test_a_worker_with_a_broken_package_refuses_before_anything_is_opened(
    nowhere: Command, packages: Packages, command: str
) -> None:
    packages.add("acme-mail", MAIL, mail="MAIL")
    packages.add("broken", "import missing_module", bad="BAD")

    refused = nowhere(command)

    assert refused.code == 1
    assert refused.complaint().startswith(BROKEN)


def test_a_list_of_jobs_tells_of_a_broken_package_and_lists_them_all_the_same(
    counterfoil: Command, packages: Packages, database: TestDatabase
) -> None:
    """An operator looks exactly when something is broken."""
    packages.add("acme-mail", MAIL, mail="MAIL")
    packages.add("broken", "import missing_module", bad="BAD")
    job = enqueue(database.connect(), "mail", queue="bulk")

    listed = counterfoil("jobs", "--json")

    assert listed.code == 0
    assert BROKEN in listed.err
    assert (listed.document["jobId"], listed.document["budget"]) == (str(job), 3)


def test_a_worker_runs_the_kinds_of_other_packages(
    counterfoil: Command, packages: Packages, database: TestDatabase
) -> None:
    packages.add("acme-mail", MAIL, mail="MAIL")
    connection = database.connect()
    job = enqueue(connection, "mail", queue="bulk", args={"n": 7})

    worker = counterfoil.start("worker")
    worker.wait_for(READY)
    until(lambda: is_over(connection))
    stopped = worker.stop()

    assert stopped.code == 0
    assert history(connection, job) == ["enqueued", "claimed", "succeeded"]
    (success,) = facts(connection, job, "job.succeeded")
    assert success["result"] == {"n": 7}
    ((kinds,),) = connection.execute("SELECT kinds FROM counterfoil.workers").fetchall()
    assert set(kinds) >= {"mail", "order_fanout"}


def test_keys_of_orders_stay_refused_to_other_kinds(
    packages_here: Packages, database: TestDatabase
) -> None:
    """A job of a kind that nobody runs would hold up what was paid for."""
    source = KIND + (
        'MAIL = named("mail", serial_key=lambda args: f"entitlement:{args.n}")\n'
    )
    packages_here.add("acme-mail", source, mail="MAIL")
    module: Any = import_module("acme_mail")
    client = Client(database.connect(), {"mail": module.MAIL})

    with pytest.raises(InvalidRequestError, match="kept for orders") as refused:
        client.enqueue("mail", {"n": 7})

    assert refused.value.path == "serialKey"


def test_an_adapter_that_raises_costs_an_attempt_and_is_asked_again(
    counterfoil: Command, packages: Packages, database: TestDatabase
) -> None:
    packages.add_groups("acme-panel", PANEL, {"providers": {"panel": "Adapter"}})
    connection = database.connect()
    Client(connection).settle_order(ORDER)

    worker = counterfoil.start("worker")
    worker.wait_for("the panel is asked by the adapter of acme-panel 1.0.0")
    (failed,) = until(lambda: last(connection, "job.attempt_failed"))
    stopped = worker.stop()

    assert stopped.code == 0
    assert "no panel" not in stopped.out
    assert "hunter2" not in stopped.out + stopped.err
    assert (failed["code"], failed["attempt"]) == ("adapter_error", 1)
    assert "RuntimeError at acme_panel.py:" in failed["error"]
    (recorded,) = last(connection, "fulfillment.attempt_failed")
    assert recorded["code"] == "adapter_error"
