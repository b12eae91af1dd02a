"""What is done to tokens and people goes on record, and what is refused as well."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from application.access.principal import Principal
from application.errors import ApplicationError, ForbiddenError
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import DEFAULT_TENANT, About, Refusals
from application.operators.taken import Deed
from application.unit import Ids, UnitOfWork
from domain.access.permissions import Permission
from domain.operators.events import ActionRefused

TOKEN: Final = "token"  # noqa: S105 - the word
PERSON: Final = "person"
_ASKED: Final = "asked for over the API"


def deed(action: str, kind: str, id_: UUID) -> Deed:
    """Return what the audit calls something that is done to one of them."""
    return Deed(action=action, target_kind=kind, target=str(id_))


def about(kind: str, id_: UUID) -> str:
    """Return the correlation of all that happens to one of them."""
    return f"{kind}:{id_}"


@dataclass(frozen=True, slots=True)
class OnRecord:
    """Puts refusals on record, each in a stream of its own (I9)."""

    units: UnitOfWork
    ids: Ids

    @contextmanager
    def refusing(
        self, action: str, kind: str, key: str, instruction: Instruction
    ) -> Generator[None]:
        """Let what is done inside be refused, and put that on record."""
        try:
            yield
        except ApplicationError as error:
            target = as_given(f"{kind}:{key}")
            self._refused(action, target, error.code, instruction)
            raise

    def route(
        self,
        principal: Principal,
        permission: Permission,
        asked: str,
        request_id: str | None,
    ) -> None:
        """See `Refuse`."""
        instruction = principal.instruct(_ASKED, request_id)
        target = as_given(f"permission:{permission}")
        self._refused(asked, target, ForbiddenError.code, instruction)

    def _refused(
        self, action: str, target: str, code: str, instruction: Instruction
    ) -> None:
        refused = ActionRefused(action=action, target=target, code=code)
        belongs = About(instruction.tenant_id or DEFAULT_TENANT, target)
        Refusals(self.units, self.ids).record(refused, instruction, belongs)
