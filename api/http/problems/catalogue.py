"""Every problem that the API may answer, by its code: a closed list.

A code is an error's stable name (`CounterfoilError.code`) or one of the edge's own.
What is not listed here is a fault of ours: `internal`, and a line in the log.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from application.errors import TENANT_PENDING, TOTAL_PENDING


class ProblemType(msgspec.Struct, frozen=True):
    """One kind of problem; title and status never vary."""

    code: str
    status: int
    title: str

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later without anybody changing it."""
        return self.status in {_429, _503} or self.code in _PASSING

    @property
    def uri(self) -> str:
        """What `type` of the problem is."""
        if self.code == QUOTA_EXCEEDED:  # IANA's own, of the rate limits' draft
            return "https://iana.org/assignments/http-problem-types#quota-exceeded"
        return f"urn:counterfoil:problem:{self.code}"

    @property
    def docs(self) -> str:
        """The page that says what to do about it."""
        return f"https://counterfoil.dev/problems/{self.code}"


INVALID_REQUEST: Final = "invalid_request"
UNKNOWN_FIELD: Final = "unknown_field"
MISSING_IDEMPOTENCY_KEY: Final = "missing_idempotency_key"
INTERNAL: Final = "internal"
UNAUTHORIZED: Final = "unauthorized"
FORBIDDEN: Final = "forbidden"
INSUFFICIENT_SCOPE: Final = "insufficient_scope"
NOT_FOUND: Final = "not_found"
METHOD_NOT_ALLOWED: Final = "method_not_allowed"
NOT_ACCEPTABLE: Final = "not_acceptable"
PAYLOAD_TOO_LARGE: Final = "payload_too_large"
UNSUPPORTED_MEDIA_TYPE: Final = "unsupported_media_type"
PRECONDITION_FAILED: Final = "precondition_failed"
PRECONDITION_REQUIRED: Final = "precondition_required"
CALLBACK_REJECTED: Final = "callback_rejected"
REASON_REQUIRED: Final = "reason_required"
QUOTA_EXCEEDED: Final = "quota_exceeded"
REQUEST_TIMEOUT: Final = "request_timeout"
HEAD_TOO_LARGE: Final = "head_too_large"
STATE_CONFLICT: Final = "state_conflict"
JOBS_UNAVAILABLE: Final = "jobs_unavailable"
DEPENDENCY_UNAVAILABLE: Final = "dependency_unavailable"

_400: Final = HTTPStatus.BAD_REQUEST
_403: Final = HTTPStatus.FORBIDDEN
_409: Final = HTTPStatus.CONFLICT
_422: Final = HTTPStatus.UNPROCESSABLE_ENTITY
_429: Final = HTTPStatus.TOO_MANY_REQUESTS
_500: Final = HTTPStatus.INTERNAL_SERVER_ERROR
_503: Final = HTTPStatus.SERVICE_UNAVAILABLE


def _by_code(types: Iterable[ProblemType]) -> Mapping[str, ProblemType]:
    return {each.code: each for each in types}


_PASSING: Final = frozenset(
    {"order_busy", "key_busy", "idempotency_in_progress", REQUEST_TIMEOUT}
)
"""What passes by itself."""

PROBLEMS: Final = _by_code(
    (
        ProblemType(INVALID_REQUEST, _400, "The request cannot be read as it is meant"),
        ProblemType(UNKNOWN_FIELD, _400, "A member or parameter is not known"),
        ProblemType(MISSING_IDEMPOTENCY_KEY, _400, "It needs an Idempotency-Key"),
        ProblemType("invalid_filter", _400, "No list can be filtered so"),
        ProblemType("invalid_cursor", _400, "The cursor is none of this list"),
        ProblemType("position_ahead", _400, "The log has no such position"),
        ProblemType(CALLBACK_REJECTED, _400, "The callback is not taken"),
        ProblemType(UNAUTHORIZED, HTTPStatus.UNAUTHORIZED, "The credential is no good"),
        ProblemType(FORBIDDEN, _403, "Your role does not allow that"),
        ProblemType(INSUFFICIENT_SCOPE, _403, "The token does not allow that"),
        ProblemType(NOT_FOUND, HTTPStatus.NOT_FOUND, "There is no such thing"),
        ProblemType(
            METHOD_NOT_ALLOWED,
            HTTPStatus.METHOD_NOT_ALLOWED,
            "The resource has no such method",
        ),
        ProblemType(
            NOT_ACCEPTABLE,
            HTTPStatus.NOT_ACCEPTABLE,
            "The answer has no such form",
        ),
        ProblemType(
            REQUEST_TIMEOUT,
            HTTPStatus.REQUEST_TIMEOUT,
            "The request did not come whole in time",
        ),
        ProblemType(
            HEAD_TOO_LARGE,
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            "Request line and headers are too large",
        ),
        ProblemType(STATE_CONFLICT, _409, "Its state forbids that"),
        ProblemType("unique_job_active", _409, "A live job has the same unique key"),
        ProblemType("idempotency_key_reused", _409, "The key is another request's"),
        ProblemType("idempotency_in_progress", _409, "The key's request is running"),
        ProblemType("maintenance_open", _409, "It is closed already, in other words"),
        ProblemType("projection_paused", _409, "Somebody has paused it already"),
        ProblemType("missing_operator", _400, "Nobody is named who decides"),
        ProblemType("maintenance_rejected", _422, "What is said makes no window"),
        ProblemType("queue_paused", _409, "Somebody has paused the queue already"),
        ProblemType("review_decided", _409, "Somebody has decided the review"),
        ProblemType("sender_not_gone", _409, "Its sender may still ask the provider"),
        ProblemType("purchases_spent", _409, "Its purchases are spent"),
        ProblemType("lookup_unsupported", _409, "The provider cannot be asked"),
        ProblemType("provider_unconfigured", _409, "The provider is not configured"),
        ProblemType("not_pausable", _409, "It does not rest, or rests already"),
        ProblemType("order_busy", _409, "Somebody holds the order's key"),
        ProblemType("key_busy", _409, "Somebody holds the unique key"),
        ProblemType(
            PAYLOAD_TOO_LARGE,
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "The request is too large",
        ),
        ProblemType(
            UNSUPPORTED_MEDIA_TYPE,
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "The request's media type is not taken",
        ),
        ProblemType(
            PRECONDITION_FAILED,
            HTTPStatus.PRECONDITION_FAILED,
            "It has changed since it was read",
        ),
        ProblemType(
            PRECONDITION_REQUIRED,
            HTTPStatus.PRECONDITION_REQUIRED,
            "It changes only for who says what was read",
        ),
        ProblemType("self_approval", _403, "Somebody else has to approve of it"),
        ProblemType("empty_filter", _422, "It would be about nothing, or everything"),
        ProblemType("bulk_limit", _422, "It is about more than may be at once"),
        ProblemType(REASON_REQUIRED, _422, "It needs a reason"),
        ProblemType("unsupported_operation", _422, "There is no such operation"),
        ProblemType(
            "fulfillment_operation_rejected", _422, "The access does not take that now"
        ),
        ProblemType("job_mutation_rejected", _422, "The job's state forbids that"),
        ProblemType(QUOTA_EXCEEDED, _429, "Too many requests"),
        ProblemType(TENANT_PENDING, _429, "Too much of the tenant is pending"),
        ProblemType(TOTAL_PENDING, _429, "Too much is pending"),
        ProblemType(INTERNAL, _500, "A fault of ours"),
        ProblemType("evidence_unreadable", _500, "The file is not as it was kept"),
        ProblemType("too_many_streams", _503, "Too many follow already"),
        ProblemType(JOBS_UNAVAILABLE, _503, "This process changes nothing"),
        ProblemType("evidence_unwritable", _503, "The file cannot be kept here"),
        ProblemType("no_key", _503, "This process has no keys"),
        ProblemType(DEPENDENCY_UNAVAILABLE, _503, "The database is not there"),
        ProblemType("projection_behind", _503, "A list does not show that yet"),
    )
)

ALIASES: Final[Mapping[str, str]] = {
    "unknown_member": UNKNOWN_FIELD,
    "missing_member": INVALID_REQUEST,
    "invalid_member": INVALID_REQUEST,
    "invalid_page": INVALID_REQUEST,
    "second_person_required": "self_approval",
    "version_changed": PRECONDITION_FAILED,
    "ends_at_not_later": "fulfillment_operation_rejected",
    "database_unavailable": DEPENDENCY_UNAVAILABLE,
    "commit_unknown": DEPENDENCY_UNAVAILABLE,
}
"""Codes of errors that are told by another one's name."""


def problem_type(code: str) -> ProblemType | None:
    """Return the problem that an error of that code is; None: it has none."""
    return PROBLEMS.get(ALIASES.get(code, code))
