"""What happens next and when, read off the heads, one sentence for each thing."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from uuid import UUID

from api.cli.timeline import short
from api.cli.times import at, distance
from domain.maintenance.gates import MAINTENANCE_ACTIVE
from projections.job_line import JobLine
from projections.why import Story
from projections.why.heads import DeliveryHead


def outlook(story: Story, budgets: Mapping[str, int]) -> list[str]:
    """Return what happens next; when nothing does, why."""
    cancelled = {
        str(each.stream_id) for each in story.operations if each.state == "cancelled"
    }
    coming = [
        f"job …{short(job.job_id)} ({job.kind}): {_job(job, story, budgets, cancelled)}"
        for job in story.jobs
    ]
    goods = [each for each in map(_goods, story.deliveries) if each]
    return [*coming, *goods, *_orders(story), *_windows(story)] or [
        "nothing: everything is done"
    ]


def _job(
    job: JobLine, story: Story, budgets: Mapping[str, int], cancelled: set[str]
) -> str:
    if job.state == "running":
        return _running(job, story.now)
    if job.state in {"discarded", "cancelled"}:
        if job.delivery_id is not None and not _is_failed(job.delivery_id, story):
            return f"dead because {job.code}; nothing is bought by it any more"
        return _dead(job, is_final=job.operation_id in cancelled)
    return f"{_waiting(job, story)}; {attempts(job, budgets)}"


def _is_failed(delivery_id: str, story: Story) -> bool:
    """Whether a retry would revive the delivery with its job."""
    states = {str(each.stream_id): each.state for each in story.deliveries}
    return states.get(delivery_id) == "failed"


def _running(job: JobLine, now: datetime) -> str:
    since = "" if job.claimed_at is None else f" since {at(job.claimed_at)}"
    lease = "" if job.lease_until is None else _lease(job.lease_until, now)
    asked = "; a cancel is requested" if job.cancel_requested else ""
    return f"running at {job.owner_host}:{job.owner_pid}{since}, {lease}{asked}"


def _lease(until: datetime, now: datetime) -> str:
    if until < now:
        return f"its lease ended {distance(until, now)}: it is about to be rescued"
    return f"lease until {at(until)} ({distance(until, now)})"


def _waiting(job: JobLine, story: Story) -> str:
    run_at = job.run_at
    when = "" if run_at is None else f"{at(run_at)} ({distance(run_at, story.now)})"
    match job.cause:
        case "parked" if run_at is None:
            told = _held(job)
        case "parked":
            told = f"parked because {job.error_code}, looks again {when}"
        case "after_failure":
            told = f"waits until {when} after {job.error_code}"
        case "not_due":
            told = f"waits until {when}"
        case _:
            told = f"due since {when}"
    if job.waits_behind is not None:
        told += f", behind job {job.waits_behind}, which has the same serial key"
    if job.queue_paused_until is not None:
        told += f"; queue {job.queue} is paused until {at(job.queue_paused_until)}"
    if story.live_workers == 0:
        told += "; no worker is alive to run it: start `counterfoil up`"
    elif not job.known:
        told += f"; no live worker knows {job.kind}"
    return told


def _held(job: JobLine) -> str:
    """Tell what a job at a gate waits for; nobody knows the instant."""
    since = job.gate_closed_since
    if since is None:
        return f"about to be due: the gate {job.gate} is open again"
    ending = f"waits for {opening(job)}, and then runs by itself"
    return f"{ending}; the gate {job.gate} has been closed since {at(since)}"


def opening(job: JobLine) -> str:
    """Return what a job at a closed gate waits for, in a few words."""
    is_maintenance = job.error_code == MAINTENANCE_ACTIVE
    return "the end of maintenance" if is_maintenance else f"the gate {job.gate}"


def _dead(job: JobLine, *, is_final: bool) -> str:
    after = "" if job.error_code is None else f" after {job.error_code}"
    if is_final or (job.state == "cancelled" and job.operation_id is not None):
        return "nothing: it is cancelled, and so is its operation"
    revived = f'counterfoil retry {job.job_id} --reason "…"'
    if job.state == "cancelled":
        return (
            f"nothing: it is cancelled ({job.code}); to run it all the same: {revived}"
        )
    return f"dead because {job.code}{after}; only a person can revive it: {revived}"


def attempts(job: JobLine, budgets: Mapping[str, int]) -> str:
    """Return how much of its budget a job has spent."""
    budget = budget_of(job, budgets)
    return f"{job.attempt} of {'?' if budget is None else budget} attempts spent"


def budget_of(job: JobLine, budgets: Mapping[str, int]) -> int | None:
    """Return the attempts that a job has; None when only its own worker knows."""
    return budgets.get(job.kind) if job.max_attempts is None else job.max_attempts


def _goods(delivery: DeliveryHead) -> str:
    """Say what a delivery waits for that no job does; empty: for nothing."""
    named = f"delivery …{short(delivery.stream_id)}"
    show = f"`counterfoil deliveries show {delivery.stream_id}`"
    match delivery.state:
        case "needs_review":
            return f"{named}: waits for a person ({delivery.code}): {show}"
        case "failed":
            return f"{named}: nothing was bought ({delivery.code}): {show}"
        case "submitted" if delivery.standing == "accepted":
            return f"{named}: its provider has it, and delivers later"
        case "pending" if delivery.deferred_code is not None:
            return f"{named}: nothing is bought for now ({delivery.deferred_code})"
        case _:
            return ""


def _windows(story: Story) -> Iterator[str]:
    """Say what ends a window; nothing does but a person."""
    for window in story.windows:
        if window.state == "open":
            until = f"until `counterfoil maintenance close --scope {window.scope}`"
            yield f"window …{short(window.window_id)}: stays open {until}"


def _whole(order: UUID, story: Story) -> str:
    """Say what an order with goods waits for: that everything of it is over."""
    over = {"delivered", "refunded", "cancelled"}
    lines = [each for each in story.deliveries if each.order_stream_id == order]
    left = sum(each.state not in over for each in lines)
    if left:
        return f"over when all is, {left} of {len(lines)} lines of goods are not yet"
    return f"all {len(lines)} lines of goods are over; what that means a job decides"


def _orders(story: Story) -> Iterator[str]:
    """Say what each order waits for that is neither fulfilled nor refunded."""
    serving = {
        each.order_stream_id: each.covered_by or each.stream_id
        for each in story.operations
        if each.order_stream_id is not None
    }
    states = {each.stream_id: each.state for each in story.operations}
    goods = {each.order_stream_id for each in story.deliveries}
    for order in story.orders:
        if order.state in {"fulfilled", "refunded"}:
            continue
        if order.stream_id in goods:
            yield f"order {order.order_id}: {_whole(order.stream_id, story)}"
            continue
        operation = serving.get(order.stream_id)
        if operation is None:
            yield f"order {order.order_id}: what it owes is decided by its job"
            continue
        state = states.get(operation, "unknown")
        if state == "cancelled":
            stays = f"stays {order.state}, its operation is cancelled"
            yield f"order {order.order_id}: {stays}"
        else:
            yield (
                f"order {order.order_id}: fulfilled when operation …{short(operation)} "
                f"({state}) succeeds"
            )
