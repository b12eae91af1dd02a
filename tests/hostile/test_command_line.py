"""S23 by the command line: every argument and option × every text it is not made for.

In this process, through the function that the command itself is: what a process of
its own adds is shown in tests/api.
"""

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import islice
from pathlib import Path

import pytest

from api.cli.app import FAILED, USAGE, run
from infrastructure.bootstrap import Composition
from infrastructure.client import Client
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue
from tests.hostile.test_client import ORDER
from tests.hostile.values import JSON, TEXTS, paths, replaced

pytestmark = pytest.mark.database

HERE = "@"
JOB = "a job's id"
WHY = ("--reason", "a test")
SENT = ("--headers", "README.md", "--body", "README.md")
NOTICES = ("--notice-ru", "ru", "--notice-en", "en")

LINES: tuple[tuple[str, ...], ...] = (
    (HERE,),
    ("why", HERE),
    ("job", HERE),
    *(("jobs", option, HERE) for option in ("--state", "--kind", "--queue")),
    *(("jobs", option, HERE) for option in ("--tenant", "--after", "--limit")),
    *(("events", option, HERE) for option in ("--type", "--correlation", "--stream")),
    *(("events", option, HERE) for option in ("--after", "--limit", "--tenant")),
    ("history", HERE),
    *(("history", "o", option, HERE) for option in ("--tenant", "--after")),
    *(("dead-letters", option, HERE) for option in ("--kind", "--order", "--after")),
    *(("dead-letters", option, HERE) for option in ("--older-than", "--at-least")),
    *(("dead-letters", "--list", it, HERE) for it in ("--code", "--tenant", "--limit")),
    ("dead-letters", "--ended", "--after", HERE),
    ("retry", HERE, *WHY),
    ("retry", JOB, "--reason", HERE),
    ("cancel", HERE, *WHY),
    ("cancel", JOB, "--reason", HERE),
    ("operate", HERE, "pause", *WHY),
    ("operate", "customer:c", HERE, *WHY),
    ("operate", "customer:c", "extend", "--ends-at", HERE, *WHY),
    ("operate", "customer:c", "set_limits", "--traffic-bytes", HERE, *WHY),
    ("operate", "customer:c", "set_limits", "--device-limit", HERE, *WHY),
    ("operate", "customer:c", "set_squads", "--squad", HERE, *WHY),
    ("operate", "customer:c", "pause", "--key", HERE, *WHY),
    ("operate", "customer:c", "pause", "--tenant", HERE, *WHY),
    ("operate", "customer:c", "pause", "--reason", HERE),
    ("refund", HERE, *WHY),
    ("refund", "o", "--line", HERE, *WHY),
    ("refund", "o", "--amount-minor", HERE, *WHY),
    ("refund", "o", "--tenant", HERE, *WHY),
    ("refund", "o", "--reason", HERE),
    ("settle", HERE),
    ("settle", "README.md", "--map", HERE),
    ("maintenance", "open", "--reason", HERE, *NOTICES),
    ("maintenance", "open", "--notice-ru", HERE, "--notice-en", "en", *WHY),
    ("maintenance", "open", "--scope", HERE, *NOTICES, *WHY),
    ("maintenance", "open", "--expected-return", HERE, *NOTICES, *WHY),
    ("maintenance", "close", "--scope", HERE, *WHY),
    ("callbacks", "replay", HERE, *WHY),
    ("callbacks", "show", HERE),
    ("callbacks", "list", "--provider", HERE),
    *(("callbacks", "record", *it, *SENT) for it in ((HERE,), ("s", "--tenant", HERE))),
    ("simulate", "gateway", "--port", HERE, "--token", "t", "--fault", "none"),
    ("simulate", "panel", "--port", HERE, "--token", "t", "--fault", "none"),
    ("simulate", "panel", "--seed", HERE, "--token", "t", "--fault", "none"),
    ("simulate", "panel", "--fault-rate", HERE, "--token", "t", "--fault", "none"),
)


@pytest.fixture(autouse=True)
def stage(
    database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One customer, and a folder of its own for whatever is written."""
    Client(database.connect()).settle_order(
        ORDER | {"tenant": "default", "customerId": "c", "orderId": "o"}
    )
    (tmp_path / "README.md").write_text("a,b\n1,2\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNTERFOIL_OPERATOR", "ann")


def told(database: TestDatabase, *line: str) -> tuple[int, str]:
    """Return code and complaint of one command; nothing else was said aloud."""
    out, err = io.StringIO(), io.StringIO()
    settings = {"COUNTERFOIL_DATABASE_URL": database.url}
    with redirect_stdout(out), redirect_stderr(err):
        code = run(Composition(settings), line)
    for text in (out.getvalue(), err.getvalue()):
        assert "fault of ours" not in text, (line, text)
        assert not set(text) & set("\x1b\x07\x9b\u202e"), line
    return code, err.getvalue()


def faults(database: TestDatabase, values: Iterator[str], each: int) -> list[object]:
    """Return what was not refused as it should be; `each` values at every place."""
    job = str(enqueue(database.connect(), "report"))
    wrong: list[object] = []
    for line in LINES:
        for value in islice(values, each):
            given = [{HERE: value, JOB: job}.get(each, each) for each in line]
            code, complaint = told(database, *given)
            if code == 0:
                continue
            lines = complaint.splitlines()
            is_one = len(lines) == 1 and lines[0].startswith("error: ")
            if code not in {FAILED, USAGE} or not is_one or len(complaint) > 2_300:
                wrong.append((line, value[:40], code, complaint[:200]))
    return wrong


def round_and_round() -> Iterator[str]:
    while True:
        yield from TEXTS.values()


def test_s23_a_text_that_no_argument_is_made_for_is_refused_in_one_sentence(
    database: TestDatabase,
) -> None:
    """One of the texts at every place, another one at the next."""
    assert faults(database, round_and_round(), each=1) == []


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_s23_all_of_these_texts_at_every_place(database: TestDatabase) -> None:
    assert faults(database, round_and_round(), each=len(TEXTS)) == []


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (("why", "\udcff"), "argument 2"),
        (("events", "--type", "\udcff"), "--type"),
    ],
)
def test_an_argument_that_is_no_text_is_named(
    database: TestDatabase, line: tuple[str, ...], named: str
) -> None:
    code, complaint = told(database, *line)

    assert code == USAGE
    assert complaint == f"error: {named} is no text of UTF-8\n"


def lines_of_a_file() -> Iterator[tuple[str, str, str]]:
    """Yield member, value and line: one value in the place of one member."""
    for path in (*paths(ORDER), ""):
        for name, value in JSON.items():
            right = {**ORDER, "orderId": f"{path}:{name}".replace(" ", "_")}
            order = json.dumps(replaced(right, path, "@@"))
            yield path, name, value if path == "" else order.replace('"@@"', value)


FITS = {
    (path, name)
    for path in ("orderId", "customerId", "tenant", "correlationId")
    for name in ("year 0", "after time")
}


def test_s23_a_line_of_a_file_is_refused_by_its_member_and_the_rest_is_settled(
    database: TestDatabase, tmp_path: Path
) -> None:
    lines = list(lines_of_a_file())
    last = json.dumps(ORDER | {"orderId": "last"})
    file = tmp_path / "orders.jsonl"
    text = "\n".join([*(line for _, _, line in lines), last])
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    out, err = io.StringIO(), io.StringIO()

    with redirect_stdout(out), redirect_stderr(err):
        settings = {"COUNTERFOIL_DATABASE_URL": database.url}
        code = run(Composition(settings), ["settle", str(file), "--json"])

    result = json.loads(out.getvalue())
    assert (code, err.getvalue()) == (FAILED, "")
    refused = {each["line"]: each for each in result["refused"]}
    wrong: list[object] = []
    for number, (path, name, _) in enumerate(lines, start=1):
        if number not in refused:
            if (path, name) not in FITS:
                wrong.append((path, name, "accepted"))
            continue
        said = refused[number]
        is_named = said["path"].startswith(path.partition(".")[0].partition("[")[0])
        is_no_json = said["code"] == "invalid_json" and said["path"] == ""
        if not (is_named or is_no_json) or len(said["detail"]) > 500:
            wrong.append((path, name, said["path"], said["detail"][:200]))
    assert wrong == []
    rows = database.connect().execute(
        "SELECT 1 FROM counterfoil.orders WHERE order_id = 'last'"
    )
    assert rows.fetchall() == [(1,)]
