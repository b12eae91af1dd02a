"""Refused actions go on record too, in a stream of their own (I9)."""

from dataclasses import dataclass
from typing import Final

from application.errors import NotFoundError, StateConflictError
from application.operators.instruction import Instruction, as_given
from application.unit import Group, Ids, UnitOfWork
from domain.access.permissions import Permission
from domain.operators.events import ActionRefused
from domain.operators.remarks import remarked
from domain.stream import Ref, StreamKind

DEFAULT_TENANT: Final = "default"


class JobMutationRejectedError(StateConflictError):
    """The job's stage forbids it: it runs, say, or waits for something else."""

    code = "job_mutation_rejected"


@dataclass(frozen=True, slots=True)
class Refusals:
    """Records what operators asked for and were refused."""

    units: UnitOfWork
    ids: Ids

    def record(
        self, refused: ActionRefused, instruction: Instruction, about: "About"
    ) -> None:
        """Commit the refusal; its target's version stays as it is.

        Raises:
            DatabaseUnavailableError: it is not known to be recorded.
        """
        ref = Ref(StreamKind.REMARK, self.ids())
        change = remarked(ref, about.tenant_id, refused)
        group = Group(
            refs=(ref,),
            decide=lambda _locked, _now: (change,),
            meta=instruction.meta(about.correlation_id),
        )
        self.units.commit([group])


@dataclass(frozen=True, slots=True)
class About:
    """Where a refusal belongs: with its target, if there is one."""

    tenant_id: str
    correlation_id: str


def require_of_installation(
    instruction: Instruction, permission: Permission, what: str, name: str
) -> None:
    """Return when they may change what is the whole installation's.

    Raises:
        ForbiddenError: they may not.
        NotFoundError: it belongs to the default tenant, and is none of theirs.
    """
    instruction.require(permission)
    if not instruction.sees(DEFAULT_TENANT):
        raise NotFoundError(what, name)


def about_nothing(key: str, instruction: Instruction | None = None) -> About:
    """Return where a refusal belongs whose target nobody knows: with who asked."""
    tenant = None if instruction is None else instruction.tenant_id
    return About(tenant or DEFAULT_TENANT, f"operator:{as_given(key)}")
