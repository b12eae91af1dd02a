"""Everything about callbacks, for whoever shows or replays them."""

from dataclasses import dataclass

from application.callbacks.callback import CallbackBook
from application.callbacks.record import RecordCallback
from application.callbacks.replay import ReplayCallback


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Takes callbacks, replays them, and tells of them."""

    record: RecordCallback
    replay: ReplayCallback
    book: CallbackBook
