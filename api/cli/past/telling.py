"""A page of jobs whatever became of them, as a person reads it, and as a program."""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from rich.text import Text

from api.cli.output import aside, document, show_rows, tell_as_of
from api.cli.times import distance
from projections.queries.page import Page
from projections.read_models.jobs import JobRow

_NAMES = ("job", "kind", "state", "attempt", "enqueued", "last code", "note")


def tell_past(page: Page[JobRow], budgets: Mapping[str, int], *, as_json: bool) -> None:
    """Write one page."""
    if as_json:
        document(_document(page))
        return
    if page.items:
        show_rows(_NAMES, [_row(job, page.as_of.at, budgets) for job in page.items])
    elif page.next is None:
        aside("no such job")
    if page.count is not None:
        least = "at least " if page.count.relation == "gte" else ""
        aside(f"{least}{page.count.value:,} in all")
    if page.next is not None:
        what = "there are more" if page.items else "none among those looked at"
        aside(f"{what}: go on with --after {page.next}")
    tell_as_of(page.as_of)


def _row(job: JobRow, now: datetime, budgets: Mapping[str, int]) -> list[Text]:
    budget = job.max_attempts or budgets.get(job.kind)
    return [
        Text(str(job.stream_id)),
        Text(job.kind),
        Text(_state(job), style="red" if job.state == "discarded" else ""),
        Text(f"{job.attempt}/{'?' if budget is None else budget}"),
        Text(distance(job.created_at, now)),
        Text(job.error_code or job.code or ""),
        Text(_note(job, now)),
    ]


def _state(job: JobRow) -> str:
    cause = job.cause
    return job.state if cause is None else f"{job.state}: {cause.replace('_', ' ')}"


def _note(job: JobRow, now: datetime) -> str:
    ended, due = job.finished_at, job.run_at
    if ended is not None:
        notes = [f"ended {distance(ended, now)}"]
    elif job.state == "waiting" and due is not None:
        notes = [f"due {distance(due, now)}"]
    else:
        notes = [] if job.gate is None else [f"waits at gate {job.gate}"]
    if job.owner_host is not None:
        notes.append(f"at {job.owner_host}:{job.owner_pid}")
    if job.cancel_requested:
        notes.append("cancel requested")
    return "; ".join(notes)


def _document(page: Page[JobRow]) -> dict[str, object]:
    return {
        "items": [_job(each) for each in page.items],
        "page": {
            "next": None if page.next is None else str(page.next),
            "prev": None if page.prev is None else str(page.prev),
            "limit": page.limit,
        },
        "count": None if page.count is None else _plain(page.count),
        "asOf": _plain(page.as_of),
    }


def _job(job: JobRow) -> dict[str, object]:
    told = {_camel(name): value for name, value in _plain(job).items()}
    return {"jobId": told.pop("streamId"), **told}


def _plain(struct: msgspec.Struct) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(struct, builtin_types=(datetime,))
    return plain


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
