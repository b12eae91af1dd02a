"""A kind whose handler says which process sends for it, as a cell makes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import msgspec

from application.context import Context
from application.job_kinds import Kinds, by_name
from domain.jobs.outcome import Completed, Outcome
from infrastructure.processor.senders.identity import who_sends
from tests.fixtures.workers import Args, kind

BOOT = UUID(int=9)


def sends(_args: Args, _ctx: Context) -> Outcome:
    return Completed(result=msgspec.to_builtins(who_sends(BOOT)))


@contextmanager
def kinds(_text: str) -> Iterator[Kinds]:
    yield by_name(kind("sends", sends))
