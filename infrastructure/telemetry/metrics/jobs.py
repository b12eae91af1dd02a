"""What this process claims, runs and settles."""

from collections import Counter, defaultdict

from infrastructure.telemetry.measures import (
    JobsClaimed,
    JobsEnqueued,
    JobsSucceeded,
    LeaseLost,
    RunsSettled,
    WriteFenced,
)
from infrastructure.telemetry.metrics.families import (
    MARGINS,
    QUICK,
    RUNS,
    SIZES,
    WAITS,
    Families,
)


class ClaimMetrics:
    """Sets the families of claims and leases."""

    def __init__(self, families: Families) -> None:
        """Declare them."""
        self._waits = families.histogram(
            "job_wait_duration_seconds",
            "From when a job was ready to its claim here.",
            *("queue", "kind"),
            bounds=WAITS,
        )
        self._sizes = families.histogram(
            "claim_batch_size", "Jobs of a claim.", "queue", bounds=SIZES, most=6
        )
        self._seconds = families.histogram(
            "claim_duration_seconds", "Claims.", "queue", bounds=QUICK, most=6
        )
        self._acquired = families.counter(
            "leases_acquired_total", "Jobs claimed.", "queue", most=6
        )
        self._lost = families.counter(
            "leases_lost_total",
            "Claims that ended without their handler's word.",
            *("queue", "cause"),
            most=18,
        )
        self._fenced = families.counter(
            "fenced_writes_total",
            "Writes of somebody who held the job no more, refused.",
            "write",
            most=6,
        )
        self._fenced.add("settle", n=0)

    def claimed(self, claim: JobsClaimed) -> None:
        """Count one claim."""
        n = sum(len(waits) for waits in claim.waits.values())
        self._sizes.add((n,), claim.queue)
        self._seconds.add((claim.seconds,), claim.queue)
        for kind, waits in claim.waits.items():
            self._waits.add(waits, claim.queue, kind)
        if n:
            self._acquired.add(claim.queue, n=n)

    def lost(self, lost: LeaseLost) -> None:
        """Count a lease that was lost."""
        self._lost.add(lost.queue, lost.cause)

    def fenced(self, fenced: WriteFenced) -> None:
        """Count a stale write."""
        self._fenced.add(fenced.write)


class RunMetrics:
    """Sets the families of runs."""

    def __init__(self, families: Families) -> None:
        """Declare them."""
        queue_kind = ("queue", "kind")
        self._runs = families.histogram(
            "job_run_duration_seconds",
            "Handlers, from their begin to their end.",
            *(*queue_kind, "result"),
            bounds=RUNS,
            most=40,
        )
        self._margins = families.histogram(
            "lease_margin_seconds",
            "What was left of a lease when its run was over; negative: nothing.",
            "queue",
            bounds=MARGINS,
            most=6,
        )
        self._attempts = families.counter(
            "job_attempts_total",
            "Endings of runs that are committed.",
            *(*queue_kind, "result"),
            most=100,
        )
        self._finished = families.counter(
            "jobs_finished_total",
            "Jobs that are over.",
            *(*queue_kind, "outcome"),
        )
        self._dead = families.counter(
            "dead_letters_total",
            "Jobs that nothing runs again without a person.",
            *("kind", "code"),
            most=100,
        )

    def succeeded(self, succeeded: JobsSucceeded) -> None:
        """Count jobs that plainly succeeded."""
        what, n = (succeeded.queue, succeeded.kind), len(succeeded.seconds)
        self._attempts.add(*what, "ok", n=n)
        self._finished.add(*what, "succeeded", n=n)
        self._runs.add(succeeded.seconds, *what, "ok")
        self._margins.add(succeeded.margins, succeeded.queue)

    def settled(self, settled: RunsSettled) -> None:
        """Count endings."""
        seconds: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
        endings = Counter[tuple[str, str, str]]()
        over = Counter[tuple[str, str, str]]()
        for run in settled.runs:
            what = (run.queue, run.kind, run.result)
            endings[what] += 1
            if run.seconds is not None:
                seconds[what].append(run.seconds)
            if run.margin is not None:
                self._margins.add((run.margin,), run.queue)
            if run.outcome is not None:
                over[(run.queue, run.kind, run.outcome)] += 1
            if run.code is not None:
                self._dead.add(run.kind, run.code)
        for what, n in endings.items():
            self._attempts.add(*what, n=n)
        for what, n in over.items():
            self._finished.add(*what, n=n)
        for what, values in seconds.items():
            self._runs.add(values, *what)


class BirthMetrics:
    """Sets the families of births."""

    def __init__(self, families: Families) -> None:
        """Declare them."""
        self._born = families.counter(
            "jobs_enqueued_total",
            "Jobs born through this process.",
            *("queue", "kind", "source"),
        )
        self._deduplicated = families.counter(
            "jobs_deduplicated_total",
            "Jobs that were there already under their unique key.",
            *("queue", "kind"),
        )

    def enqueued(self, enqueued: JobsEnqueued) -> None:
        """Count a birth, or none."""
        if enqueued.is_duplicate:
            self._deduplicated.add(enqueued.queue, enqueued.kind)
        else:
            self._born.add(enqueued.queue, enqueued.kind, enqueued.source)
