"""An installation into which secrets were put wherever somebody can put something."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec
import psycopg

from application.context import Context
from application.job_kinds import JobKind, by_name
from application.providers.credential import Credential
from domain.jobs.outcome import Completed, Fail, Outcome, Park, Retry
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.settings import Settings
from infrastructure.telemetry import listen, show
from tests.callbacks.stage import RING, body_of, configure, signed
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over
from tests.fixtures.workers import enqueue
from tests.http.canary.liar import Liar, lying
from tests.http.canary.plants import marker, planted
from tests.metrics.scrape import Meters, metered

WEBHOOK: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwQwErTyUiOpA="
_UNLIMITED: Final = 100_000_000
GREATEST: Final = 12
"""Orders of access, each of which meets another answer of the panel."""


class Mode(StrEnum):
    """What a handler does with the text that it is given."""

    RAISE = "raise"
    FAIL = "fail"
    RETRY = "retry"
    PARK = "park"
    RETURN = "return"
    UNSTORABLE = "unstorable"


class Words(msgspec.Struct, frozen=True):
    """Arguments that say what is done with them."""

    mode: Mode
    said: str
    bank: str


def talk(args: Words, context: Context) -> Outcome:
    """Say what was given, in every way in which a handler can."""
    line, progress = planted("handler's line"), planted("handler's progress")
    context.log("a handler speaks", text=line, password=args.bank, card=args.bank)
    context.progress({"text": progress, "token": args.bank, progress: 1})
    match args.mode:
        case Mode.RAISE:
            raise ValueError(args.said)
        case Mode.FAIL:
            return Fail(code="refused", error=args.said)
        case Mode.RETRY:
            return Retry(code="later", error=args.said)
        case Mode.PARK:
            return Park(cause="panel_credentials")
        case Mode.RETURN:
            kept = planted("handler's result")
            return Completed(result={"text": kept, "secret": args.bank, kept: [kept]})
        case Mode.UNSTORABLE:
            return Completed(result={"text": f"{args.bank}\0"})


TALK: Final = JobKind(name="talk", args=Words, handler=talk)


@dataclass
class Stage:
    """The API and a worker over one database, and providers that lie."""

    api: Api
    liar: Liar
    meters: Meters
    log: StringIO
    connection: psycopg.Connection[Any]


@contextmanager
def staged(database: TestDatabase, folder: Path) -> Generator[Stage]:
    """Give an installation in which nothing has happened yet."""
    log = StringIO()
    with ExitStack() as stack:
        stack.enter_context(redirect_stderr(log))
        stack.enter_context(listen(show))
        liar = stack.enter_context(lying())
        meters = stack.enter_context(metered(database))
        settings = Settings(
            rate_limit_burst=_UNLIMITED,
            rate_limit_hour=_UNLIMITED,
            data_encryption_keys=RING,
            remnawave_url=liar.url,
            remnawave_token=planted("panel token").replace(" ", "-"),
            operator_token=planted("operator token"),
        )
        api = stack.enter_context(api_over(database, folder, settings))
        yield Stage(api, liar, meters, log, database.connect())


@contextmanager
def working(stage: Stage) -> Generator[None]:
    """Run a worker of all kinds meanwhile."""
    services = stage.api.services
    kinds = by_name(*services.runnable_kinds.values(), TALK)
    options = WorkerOptions(
        queues={"critical": 4, "default": 2, "bulk": 1}, grace_seconds=5.0
    )
    worker = Worker(services.database, kinds, options)
    worker.start()
    try:
        yield
    finally:
        worker.stop()


def put_in_payloads(stage: Stage) -> None:
    """Enqueue jobs whose arguments hold secrets, right ones and wrong ones."""
    bank, said = planted("argument"), planted("handler's error")
    asked: list[dict[str, object]] = [
        {"mode": mode, "said": said, "bank": bank} for mode in Mode
    ]
    asked += [
        {"mode": bank, "said": bank, "bank": bank},
        {"mode": "raise", "said": [bank], "bank": bank},
        {planted("argument's name"): bank},
    ]
    for args in asked:
        enqueue(stage.connection, "talk", args=args, maxAttempts=1)
    unknown = {"password": bank, "n": [bank]}
    enqueue(stage.connection, "nobody-runs-it", args=unknown)


def put_in_providers(stage: Stage) -> None:
    """Configure providers of both dialects, with secrets as their credentials."""
    for slug, adapter in (("stars", "fragment"), ("keyed", "idempotent")):
        token = planted("gateway token").replace(" ", "-")
        credential = Credential(
            base_url=stage.liar.url, token=token, webhook_secret=WEBHOOK
        )
        configure(stage.connection, credential, adapter=adapter, slug=slug)


def settlement(number: int) -> dict[str, object]:
    """Return an order that sells access and goods to somebody."""
    goods = {
        "type": "goods",
        "recipient": f"{marker('recipient')}",
        "product": {"kind": "telegram_stars", "quantity": 50},
        "costMinor": 1,
        "priceMinor": 10,
    }
    return {
        "orderId": f"A-{number}",
        "customerId": f"C-{number}",
        "kind": "purchase",
        "currency": "EUR",
        "amountMinor": 100,
        "lines": [
            {"line": 1, "type": "access", "days": 30},
            goods | {"line": 2, "provider": "stars"},
            goods | {"line": 3, "provider": "keyed"},
        ],
    }


def put_in_hooks(stage: Stage) -> Iterator[tuple[str, str]]:
    """Send callbacks with secrets: signed right, signed wrong, and none at all."""
    said = planted("callback")
    body = body_of("goods:x:1:1", text=said)
    ((now,),) = stage.connection.execute(
        "SELECT extract(epoch FROM counterfoil.now())::bigint"
    ).fetchall()
    right = signed(body, int(now), secret=WEBHOOK)
    wrong: tuple[tuple[str, bytes, Mapping[str, str]], ...] = (
        ("keyed", body, right),
        ("keyed", body, right),
        ("keyed", body + b" ", right),
        ("keyed", said.encode(), {"Webhook-Signature": f"v1,{said}"}),
        ("keyed", body, right | {"Webhook-Id": said, "Webhook-Timestamp": said}),
        (marker("provider's name"), body, right),
        (quote(planted("provider's name"), safe=""), body, right),
        (f"keyed?tenant={quote(planted("provider's name"))}", body, right),
        (f"keyed?{quote(planted('name asked for'))}=1", body, right),
    )
    for path, content, headers in wrong:
        answer = httpx.post(
            f"{stage.api.address}/v1/hooks/{path}", content=content, headers=headers
        )
        told = f"{answer.headers} {answer.text}"
        yield f"ECHO POST /v1/hooks: {answer.status_code}", told
