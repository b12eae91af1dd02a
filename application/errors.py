"""Errors of the use cases: what was asked is fine, but could not proceed.

ApplicationError
├── NotFoundError             nothing has that id (in this tenant)
├── UnauthorizedError         nobody has that name and that password
├── ForbiddenError            whoever asks may not do that
├── VersionChangedError       it is not as whoever asks has seen it
├── StateConflictError        the thing is at a stage that forbids it
├── OperationKeyReusedError   the key stands for another request
├── IdempotencyKeyReusedError   the request's key stands for another one
├── IdempotencyInProgressError  the same request is running under its key just now
├── QuotaExceededError        as many jobs are pending as may be
├── WindowOpenError           the scope has a window already, which says otherwise
├── ProjectionPausedError     somebody has paused it already, for another reason
├── ProviderInUseError        something may still be asked or looked up where it was
├── CredentialUnreadableError what is sealed does not open
├── NoKeyError                there is no key that secrets could be sealed with
├── RestoreUnfinishedError    deliveries wait to be reconciled after a restore
├── TwinError                 a live job has the same unique key
├── ReviewDecidedError        somebody has decided the review already
├── DecisionRefusedError      the review cannot be decided so, or not by this person
└── CannotBeAskedError        the provider of goods cannot tell what became of it
"""

from typing import Final

from domain.access.permissions import Permission
from domain.errors import CounterfoilError
from domain.event import Instant

TENANT_PENDING: Final = "tenant_pending_limit"
TOTAL_PENDING: Final = "total_pending_limit"


class ApplicationError(CounterfoilError):
    """The use case could not proceed."""


class NotFoundError(ApplicationError):
    """Nothing has that id."""

    code = "not_found"

    def __init__(self, what: str, key: str) -> None:
        """Name what was looked for and by which id."""
        self.what = what
        self.key = key
        shown = " ".join(key.splitlines())  # a person gave it, whatever it is
        super().__init__(f"there is no {what} {shown}")


class UnauthorizedError(ApplicationError):
    """Nobody has that name and that password; which of them is wrong is not told."""

    code = "unauthorized"

    def __init__(self) -> None:
        """Say what was tried."""
        super().__init__("nobody of that name and that password may sign in")


class ForbiddenError(ApplicationError):
    """Whoever asks may not do that."""

    code = "forbidden"

    def __init__(self, permission: Permission) -> None:
        """Name the permission that is missing."""
        self.permission = permission
        super().__init__(f"{self.code}: it needs the permission {permission}")


class VersionChangedError(ApplicationError):
    """The thing is not at the version that whoever asks has looked at."""

    code = "precondition_failed"

    def __init__(self, key: str) -> None:
        """Name the thing."""
        self.key = key
        super().__init__(f"{self.code}: {key} has changed; look at it again")


class StateConflictError(ApplicationError):
    """The thing is at a stage that forbids what was asked."""

    code = "state_conflict"

    def __init__(self, what: str, key: str, state: str, remedy: str) -> None:
        """Name the thing, its state and what can be done instead."""
        self.what = what
        self.key = key
        self.state = state
        self.remedy = remedy
        super().__init__(f"{what} {key} is {state}; {remedy}")


class OperationKeyReusedError(ApplicationError):
    """The key was used before, with other parameters (I5)."""

    code = "idempotency_key_reused"

    def __init__(self, operation: str) -> None:
        """Name the operation that the key stands for."""
        self.operation = operation
        super().__init__(
            f"{self.code}: the key stands for operation {operation}, "
            "which was asked for with other parameters"
        )


class IdempotencyKeyReusedError(ApplicationError):
    """The request's key stands for another request of the same caller (I5)."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        """Say what can be done."""
        super().__init__(
            f"{self.code}: the Idempotency-Key was used for another request; give each "
            "request a key of its own, and repeat it unchanged"
        )


class IdempotencyInProgressError(ApplicationError):
    """The same request is running under its key: its answer is there in a moment."""

    code = "idempotency_in_progress"

    def __init__(self, retry_after_seconds: int = 1) -> None:
        """Say when to ask again."""
        self.retry_after_seconds = retry_after_seconds
        super().__init__(
            f"{self.code}: the request with this Idempotency-Key is still running; "
            f"repeat it after {retry_after_seconds} s"
        )


class WindowOpenError(ApplicationError):
    """The scope has an open window of maintenance that says something else."""

    code = "maintenance_open"

    def __init__(self, scope: str, *, window: str, opened_by: str, since: str) -> None:
        """Name the scope, its window, and by whom and when that was opened."""
        self.scope = scope
        self.window = window
        self.opened_by = opened_by
        self.since = since
        super().__init__(
            f"{self.code}: scope {scope} has had window {window} since {since}, opened "
            f"by {opened_by} with other words; `counterfoil maintenance` shows them"
        )


class ProjectionPausedError(ApplicationError):
    """The projection is paused, by somebody else or for another reason."""

    code = "projection_paused"

    def __init__(self, projection: str, *, paused_by: str, since: str) -> None:
        """Name the projection, and by whom and when it was paused."""
        self.projection = projection
        self.paused_by = paused_by
        self.since = since
        super().__init__(
            f"{self.code}: projection {projection} has been paused since {since} by "
            f"{paused_by}, in other words; `counterfoil projections list` shows them"
        )


class ProviderInUseError(ApplicationError):
    """Where a provider is may not change while something may be asked of it there."""

    code = "provider_in_use"

    def __init__(self, provider: str, what: str, reason: str) -> None:
        """Name the provider, what was to change, and why it cannot or what to do."""
        self.provider = provider
        self.what = what
        self.reason = reason
        super().__init__(
            f"{self.code}: the {what} of provider {provider} cannot change now; "
            f"{reason}, or configure the new one under another name"
        )


class CredentialUnreadableError(ApplicationError):
    """A sealed credential cannot be used; nothing of it is known or told."""

    code = "credential_unreadable"

    def __init__(self, provider: str, problem: str) -> None:
        """Name whose credential it is, and why it cannot be used."""
        self.provider = provider
        self.problem = problem
        super().__init__(
            f"{self.code}: the credential of provider {provider} {problem}; give it "
            f"whole by `counterfoil credentials set {provider}`, or give the key back"
        )


class NoKeyError(ApplicationError):
    """There is no key ring here, so nothing can be sealed or opened."""

    code = "no_key"

    def __init__(self) -> None:
        """Say how to make one."""
        super().__init__(
            f"{self.code}: COUNTERFOIL_DATA_ENCRYPTION_KEYS is not set; "
            "`counterfoil credentials make-key` makes a key"
        )


class QuotaExceededError(ApplicationError):
    """As many jobs are pending as may be; there is room when some have ended."""

    code = TENANT_PENDING

    def __init__(self, code: str, detail: str, retry_after_seconds: int) -> None:
        """Name the limit by its code, whose it is, and when to ask again."""
        self.code = code
        self.detail = detail
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"{code}: {detail}; retry after {retry_after_seconds} s")


class TwinError(ApplicationError):
    """A live job has the same unique key, so the dead one stays dead."""

    code = "unique_job_active"

    def __init__(self, job: str, twin: str) -> None:
        """Name the dead job and its live twin."""
        self.job = job
        self.twin = twin
        super().__init__(f"job {job} has a live twin: {twin}")


class RestoreUnfinishedError(ApplicationError):
    """Purchases may be missing of deliveries that nobody has reconciled yet."""

    code = "restore_unfinished"

    def __init__(self, left: int) -> None:
        """Say how many deliveries are left, and what can be done."""
        self.left = left
        told = "1 delivery is" if left == 1 else f"{left} deliveries are"
        super().__init__(
            f"{told} neither reconciled nor in review after the restore; wait for the "
            "workers, look at `counterfoil restore-guard status`, or give --override"
        )


class ReviewDecidedError(ApplicationError):
    """Somebody has decided the review already."""

    code = "review_decided"

    def __init__(
        self, delivery: str, *, verdict: str, by: str, at: Instant, state: str
    ) -> None:
        """Name the delivery, what was decided, by whom and when, and its state now."""
        self.delivery = delivery
        self.verdict = verdict
        self.by = by
        self.at = at
        self.state = state
        super().__init__(
            f"{self.code}: delivery {delivery} was decided ({verdict}) by {by} at "
            f"{at:%Y-%m-%d %H:%M:%S}Z, and is {state}"
        )


class DecisionRefusedError(ApplicationError):
    """The review cannot be decided so, or not now, or not by this person."""

    allowed: tuple[str, ...] = ()  # what the same person could do instead

    def __init__(self, code: str, delivery: str, detail: str) -> None:
        """Name the refusal's code, the delivery, and what can be done instead."""
        self.code = code
        self.delivery = delivery
        self.detail = detail
        super().__init__(f"{code}: delivery {delivery}: {detail}")


class CannotBeAskedError(ApplicationError):
    """The provider cannot tell what became of a purchase; a person has to find out."""

    def __init__(self, provider: str, code: str, detail: str) -> None:
        """Name the provider, and why it cannot be asked."""
        self.provider = provider
        self.code = code
        self.detail = detail
        super().__init__(
            f"{code}: provider {provider} cannot be asked: {detail}; find out what "
            "became of it, and decide with `counterfoil deliveries decide`"
        )
