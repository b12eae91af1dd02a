"""How the parts of an installation are put together."""

import os
import socket

from application.operators.cancel import cancel_job
from application.operators.maintenance import Maintenance
from application.operators.operate import Operate
from application.operators.retry import retry_job
from application.operators.target import Targets
from domain.event import Actor
from infrastructure.access.wiring import access_over
from infrastructure.extensions.extensions import Extensions
from infrastructure.extensions.panel import GuardedPanel
from infrastructure.front_door import refund_over, settle_over
from infrastructure.goods.parts import callbacks_of, goods_of
from infrastructure.guards.wiring import Guarding
from infrastructure.ids import new_id
from infrastructure.installation.place import Place
from infrastructure.installation.secret import CursorSecret
from infrastructure.installation.services import Services
from infrastructure.kinds import Parts, product_kinds
from infrastructure.live.feed import Feed
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.postgres.windows import PostgresWindows
from infrastructure.projecting.switches import projections_over
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.providers.registry.wiring import configure_over, reconcile_over
from infrastructure.reviews.reviews import decide_over
from infrastructure.settings import Settings
from projections.queries.changes import Changes


def panel_of(settings: Settings) -> HttpPanel | None:
    """Return the panel that the settings name, if they do."""
    if settings.remnawave_url is None or settings.remnawave_token is None:
        return None
    return HttpPanel(PanelWire(settings.remnawave_url, settings.remnawave_token))


def wired(
    settings: Settings,
    place: Place,
    database: Database,
    panel: HttpPanel | GuardedPanel | None,
    extensions: Extensions,
) -> Services:
    """Return the services over an opened database."""
    streams = PostgresStreams(database)
    guarding, keys = guarding_of(settings, place), settings.data_encryption_keys
    parts = _parts(settings, database, streams, panel, guarding)
    targets = Targets(parts.streams, streams, kinds := product_kinds(parts))
    return Services(
        place=place,
        missing=_missing(settings) if panel is None else (),
        database=database,
        parts=parts,
        kinds=kinds,
        extensions=extensions,
        settle_order=settle_over(database),
        refund_order=refund_over(database),
        retry=retry_job(targets, parts.units, new_id),
        cancel=cancel_job(targets, parts.units, new_id),
        operate=Operate(streams, parts.units, new_id),
        decide=decide_over(database, parts.units, four_eyes=settings.four_eyes),
        reconcile_delivery=reconcile_over(database, keys, parts.units),
        maintenance=Maintenance(PostgresWindows(database), parts.units, new_id),
        projections=projections_over(database, parts.units),
        providers=configure_over(database, keys, parts.units),
        guarding=guarding,
        restore_guard=guarding.quarantining(database, parts.units),
        callbacks=callbacks_of(settings, streams, database, parts.units),
        access=access_over(database, parts.units, settings),
        feed=Feed(Changes(database.connection)),
        is_read_only=settings.read_only,
        cursor_secret=CursorSecret(database),
    )


def _parts(
    settings: Settings,
    database: Database,
    streams: PostgresStreams,
    panel: HttpPanel | GuardedPanel | None,
    guarding: Guarding,
) -> Parts:
    return Parts(
        streams=streams,
        units=BatchStore(database),
        ids=new_id,
        panel=panel,
        username_prefix=settings.panel_username_prefix,
        connections=database,
        actor=_actor(),
        goods=goods_of(settings, database, guarding),
    )


def guarding_of(settings: Settings, place: Place) -> Guarding:
    """Return what guards purchases here."""
    # A throw-away database has a throw-away journal.
    home = place.home if place.is_ephemeral else None
    return Guarding.of(home or settings.data_dir, _actor())


def _actor() -> Actor:
    return Actor(type="worker", id=f"{socket.gethostname()[:255]}:{os.getpid()}")


def _missing(settings: Settings) -> tuple[str, ...]:
    """Return the settings without which there is no panel to ask."""
    needed = {
        "COUNTERFOIL_REMNAWAVE_URL": settings.remnawave_url,
        "COUNTERFOIL_REMNAWAVE_TOKEN": settings.remnawave_token,
    }
    return tuple(name for name, value in needed.items() if value is None)
