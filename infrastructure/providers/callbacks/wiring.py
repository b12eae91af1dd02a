"""What takes and replays callbacks of providers, over one database."""

from application.callbacks.all import Callbacks
from application.callbacks.replay import ReplayCallback
from application.callbacks.telling import TellDelivery
from application.goods.pace import Pace
from application.operators.refusals import Refusals
from application.ports import Streams
from application.providers.sealing import Seals
from application.unit import UnitOfWork
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.providers.callbacks.book import PostgresCallbackBook
from infrastructure.providers.callbacks.measured import MeasuredRecord
from infrastructure.providers.goods.callback import read_callback
from infrastructure.providers.registry.book import PostgresProviderBook


def callbacks_over(
    connections: Connections,
    seals: Seals | None,
    streams: Streams,
    units: UnitOfWork,
    pace: Pace,
) -> Callbacks:
    """Return what takes callbacks; without keys every one is rejected."""
    book = PostgresCallbackBook(connections)
    record = MeasuredRecord(
        providers=PostgresProviderBook(connections),
        seals=seals,
        callbacks=book,
        read=read_callback,
        tell=TellDelivery(streams, units, new_id, pace),
        ids=new_id,
    )
    replay = ReplayCallback(
        record=record, callbacks=book, refusals=Refusals(units, new_id)
    )
    return Callbacks(record, replay, book)
