"""A handler's context, with what the handler does written down."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from application.context import Context
from domain.event import JsonObject
from domain.jobs.outcome import Outcome
from infrastructure.processor.leases import Held

type Handler = Callable[[Any, Context], Outcome]


class Line(NamedTuple):
    """One structured log line of a handler."""

    event: str
    values: Mapping[str, str | float | bool | None]


@dataclass(slots=True)
class Book:
    """What one run of a handler did, in order."""

    held: Held
    cancel_after: int | None
    """How many looks until a cancel is requested; None: never."""
    looks: int = 0
    progress: list[JsonObject] = field(default_factory=list[JsonObject])
    log: list[Line] = field(default_factory=list[Line])
    asked: list[bool] = field(default_factory=list[bool])
    exception: BaseException | None = None

    def around(self, handler: Handler) -> Handler:
        """Return `handler`, written down."""

        def recorded(args: Any, context: Context) -> Outcome:  # noqa: ANN401 - the struct of the kind
            self._let_be_cancelled()
            try:
                return handler(args, RecordedContext(context, self))
            except BaseException as error:
                self.exception = error
                raise

        return recorded

    def look(self) -> None:
        """Count a look for a cancel; the operator may ask for one right before it."""
        self._let_be_cancelled()
        self.looks += 1

    def _let_be_cancelled(self) -> None:
        if self.cancel_after is not None and self.looks >= self.cancel_after:
            self.held.cancel_requested = True


@dataclass(frozen=True, slots=True)
class RecordedContext:
    """See `application.context.Context`; a worker's own, with a book."""

    inner: Context
    book: Book

    @property
    def job_id(self) -> UUID:
        """See `Context.job_id`."""
        return self.inner.job_id

    @property
    def tenant_id(self) -> str:
        """See `Context.tenant_id`."""
        return self.inner.tenant_id

    @property
    def correlation_id(self) -> str:
        """See `Context.correlation_id`."""
        return self.inner.correlation_id

    @property
    def attempt(self) -> int:
        """See `Context.attempt`."""
        return self.inner.attempt

    @property
    def token(self) -> int:
        """See `Context.token`."""
        return self.inner.token

    @property
    def cancel_requested(self) -> bool:
        """See `Context.cancel_requested`."""
        self.book.look()
        return self.inner.cancel_requested

    @property
    def seconds_left(self) -> float:
        """See `Context.seconds_left`."""
        return self.inner.seconds_left

    def may_begin(self) -> bool:
        """See `Context.may_begin`."""
        may = self.inner.may_begin()
        self.book.asked.append(may)
        return may

    def progress(self, value: JsonObject) -> None:
        """See `Context.progress`."""
        self.inner.progress(value)
        # As it is now: the handler may go on changing its own object.
        self.book.progress.append(msgspec.json.decode(msgspec.json.encode(value)))

    def log(self, event: str, /, **values: str | float | bool | None) -> None:
        """See `Context.log`."""
        self.inner.log(event, **values)
        # A worker writes the line as JSON, so what is none fails the handler here too.
        json.dumps(values)
        self.book.log.append(Line(event, values))
