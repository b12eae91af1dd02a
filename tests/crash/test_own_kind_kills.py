"""SIGKILL inside a handler that another package has brought to a real worker."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.packages import Packages
from tests.fixtures.workers import Call, Gate, enqueue, facts, history, is_over, until

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

READY = '"event": "worker started"'
PAST_A_LEASE = timedelta(seconds=61)

SOURCE = """
import json
import os
import socket

import msgspec

from counterfoil import Completed, JobKind, Retry


class Report(msgspec.Struct, frozen=True):
    n: int


def write(args, ctx):
    told = {
        "job": str(ctx.job_id),
        "attempt": ctx.attempt,
        "token": ctx.token,
        "pid": os.getpid(),
    }
    with socket.create_connection(("127.0.0.1", int(os.environ["ACME_GATE"]))) as gate:
        gate.sendall(json.dumps(told).encode() + b"\\n")
        with gate.makefile() as answers:
            word = answers.readline().strip()
    if word != "complete":
        return Retry(code="gate_closed")
    return Completed(result={"n": args.n})


REPORT = JobKind(
    name="acme.report", args=Report, handler=write, serial_key=lambda args: "reports"
)
"""


@pytest.fixture
def counterfoil(
    database: TestDatabase, packages: Packages, gate: Gate
) -> Iterator[Command]:
    packages.add("acme-report", SOURCE, report="REPORT")
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url,
        ACME_GATE=str(gate.port),
        **packages.settings,
    )
    try:
        yield command
    finally:
        command.close()


def test_i3_a_job_of_another_package_outlives_its_worker(
    counterfoil: Command, database: TestDatabase, gate: Gate
) -> None:
    """The attempt is given back, the serial key freed, and the next claim is fenced."""
    database.advance(timedelta(minutes=10))  # no lease is rescued right after a start
    connection = database.connect()
    a = counterfoil.start("worker")
    a.wait_for(READY)
    job = enqueue(connection, "acme.report", args={"n": 7}, serialKey="reports")
    after = enqueue(connection, "acme.report", args={"n": 8}, serialKey="reports")
    first = gate.wait_call(pid=a.process.pid)

    a.process.kill()
    assert a.end().code == -9
    b = counterfoil.start("worker")
    b.wait_for(READY)
    database.advance(PAST_A_LEASE)
    calls: list[Call] = []
    for _ in (job, after):
        calls.append(gate.wait_call())
        calls[-1].answer("complete")
    until(lambda: is_over(connection))

    assert first.job == job
    assert {call.job for call in calls} == {job, after}
    assert first.pid not in {call.pid for call in calls}
    assert {call.attempt for call in (first, *calls)} == {1}
    (second,) = (call for call in calls if call.job == job)
    assert second.token > first.token
    assert history(connection, job) == [
        "enqueued",
        "claimed",
        "lease_expired",
        "claimed",
        "succeeded",
    ]
    (lost,) = facts(connection, job, "job.lease_expired")
    assert (lost["cause"], lost["attempt"]) == ("process_gone", 0)
    (success,) = facts(connection, job, "job.succeeded")
    assert (success["result"], success["token"]) == ({"n": 7}, second.token)
    assert b.stop().code == 0
