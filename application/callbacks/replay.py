"""A person tells a callback again that had come to nothing."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from application.callbacks.callback import (
    REPLAYED,
    Callback,
    CallbackBook,
    Remarked,
    Told,
)
from application.callbacks.record import Receipt, RecordCallback
from application.errors import (
    ApplicationError,
    IdempotencyInProgressError,
    NoKeyError,
    NotFoundError,
    StateConflictError,
)
from application.once.commit import making
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import About, Refusals, about_nothing
from application.operators.taken import Deed, taken
from application.providers.sealing import Unopened
from domain.access.permissions import Permission
from domain.operators.actions import CALLBACK_REPLAYED
from domain.operators.events import ActionRefused, ActionTaken, CallbackReplayed

if TYPE_CHECKING:
    from domain.event import JsonObject

WHAT: Final = "callback"
REPLAY: Final = "replay_callback"

_PROVIDER: Final = "provider"

_REMEDIES: Final = {
    "accepted": "its delivery was told already",
    "duplicate": "replay the one that it repeats, if that has failed",
    "rejected": "nobody has signed it; ask the provider to send it again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCallback:
    """Replays callbacks on behalf of people."""

    record: RecordCallback
    callbacks: CallbackBook
    refusals: Refusals

    def __call__(self, key: str, instruction: Instruction) -> Receipt:
        """Return what followed from the callback of that id this time.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: they have no such callback, or its provider is gone.
            StateConflictError: it is neither failed nor ignored,
                or its body does not open with the keys here.
            NoKeyError: there are no keys here.
            DatabaseUnavailableError: it may have been told already.
        """
        callback = self._found(key, instruction)
        try:
            instruction.require(Permission.WEBHOOKS_WRITE)
            return self._replayed(callback, key, instruction)
        except IdempotencyInProgressError:
            raise  # nothing is refused: the same request is about to be answered
        except ApplicationError as error:
            refused = ActionRefused(
                action=REPLAY, target=as_given(key), code=error.code
            )
            about = _about(callback, key, instruction)
            self.refusals.record(refused, instruction, about)
            raise

    def _found(self, key: str, instruction: Instruction) -> Callback | None:
        """Return the callback of that id, if it is one of theirs."""
        try:
            found = self.callbacks.find(UUID(key.strip()))
        except ValueError:
            return None
        is_theirs = found is not None and instruction.sees(found.tenant_id)
        return found if is_theirs else None

    def _replayed(
        self, callback: Callback | None, key: str, instruction: Instruction
    ) -> Receipt:
        if callback is None:
            raise NotFoundError(WHAT, as_given(key))
        if callback.status not in REPLAYED:
            remedy = _REMEDIES.get(callback.status, "only what came to nothing is told")
            raise StateConflictError(WHAT, str(callback.id), callback.status, remedy)
        provider = self.record.providers.find(callback.tenant_id, callback.provider)
        if provider is None:
            raise NotFoundError(_PROVIDER, callback.provider)
        body = self._body(callback)
        event = CallbackReplayed(
            provider=callback.provider,
            callback=callback.id,
            before=callback.code or callback.status,
        )
        meta = instruction.meta(f"callback:{callback.id}")

        def replayed(told: Told) -> Remarked:
            return Remarked((event, _record(callback, told)), meta)

        once = making(instruction.once, WHAT, callback.id)
        return self.record.follow(callback, provider, body, replayed, once)

    def _body(self, callback: Callback) -> bytes:
        seals, sealed = self.record.seals, callback.sealed
        if seals is None or sealed is None:
            raise NoKeyError
        body = seals.open(sealed, callback.place)
        if isinstance(body, Unopened):
            remedy = f"its body does not open under key {body.key}; give that key back"
            raise StateConflictError(WHAT, str(callback.id), "sealed", remedy)
        return body


def _record(callback: Callback, told: Told) -> ActionTaken:
    deed = Deed(
        action=CALLBACK_REPLAYED, target_kind=WHAT, target=f"callback:{callback.id}"
    )
    before: JsonObject = {"state": callback.status, "code": callback.code}
    return taken(deed, before, {"state": told.status, "code": told.code})


def _about(callback: Callback | None, key: str, instruction: Instruction) -> About:
    if callback is None:
        return about_nothing(key, instruction)
    return About(callback.tenant_id, f"callback:{callback.id}")
