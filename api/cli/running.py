"""`up`, `worker` and `migrate`: processes that run, and what they run on."""

from collections.abc import Sequence
from contextlib import suppress

import rich_click as click

from api.cli.options import Decorator, as_json, command, option
from api.cli.output import document, say
from api.installation import Installation, Services
from api.places import Place, SchemaState
from application.roles import API, JOBS, PROJECTIONS, ROLES, chosen


@command
@option(
    "--ephemeral",
    is_flag=True,
    help="Use a private database that is NOT durable and is removed at the end.",
)
@as_json
@click.pass_obj
def up(installation: Installation, *, ephemeral: bool, as_json: bool) -> None:
    r"""Run everything here: database, migrations, one worker, the API.

    Without COUNTERFOIL_DATABASE_URL a PostgreSQL of Counterfoil's own is started, its
    data below COUNTERFOIL_DATA_DIR (./var); other commands on this machine share it.
    The process works until Ctrl-C or SIGTERM, which lets running jobs finish; a second
    one ends it at once.  Events of the worker go to standard error, a JSON line each.

    \b
    Examples:
      counterfoil up
      counterfoil up --ephemeral
      COUNTERFOIL_DATABASE_URL=postgresql://shop@db/shop counterfoil up
      COUNTERFOIL_REMNAWAVE_URL=https://panel.example.org \
        COUNTERFOIL_REMNAWAVE_TOKEN=... counterfoil up
    """
    from api.http.serving import serve_somewhere  # noqa: PLC0415 - see `LazyCommands`

    def announce(services: Services, address: str | None) -> None:
        with suppress(OSError):  # whoever should read it may be gone, its disk full
            _announce(services, (*ROLES, API), address, as_json=as_json)

    installation.work(
        announce, up_to_date=True, ephemeral=ephemeral, serve=serve_somewhere
    )


@command
@as_json
@click.pass_obj
def api(installation: Installation, *, as_json: bool) -> None:
    r"""Answer HTTP, and do nothing else: the API for shops, machines and people.

    Listens at COUNTERFOIL_HTTP_ADDR (127.0.0.1:8080); `:8080` means every address of
    this host.  Start as many as you like behind a balancer; jobs are run by workers.
    With COUNTERFOIL_READ_ONLY=1 it changes nothing.  `counterfoil tokens create` makes
    the tokens that it takes.

    \b
    Examples:
      counterfoil api
      COUNTERFOIL_HTTP_ADDR=:8080 counterfoil api
    """
    from api.http.serving import serve  # noqa: PLC0415 - see `LazyCommands`

    def announce(services: Services, address: str | None) -> None:
        with suppress(OSError):  # whoever should read it may be gone, its disk full
            _announce(services, (API,), address, as_json=as_json)

    installation.work(announce, roles=(), serve=serve)


def _roles(name: str, help_: str) -> Decorator:
    return option(name, type=click.Choice(ROLES), multiple=True, help=help_)


@command
@_roles("--only", "Do this alone; given more than once, these.")
@_roles("--without", "Do everything but this.")
@as_json
@click.pass_obj
def worker(
    installation: Installation,
    *,
    only: tuple[str, ...],
    without: tuple[str, ...],
    as_json: bool,
) -> None:
    r"""Run one more worker on a database that is migrated already.

    Start as many as you like, on as many machines as you like.  A worker refuses a
    database whose schema is older or newer than its own version.  How much it runs at
    once is set by COUNTERFOIL_QUEUE_CRITICAL (16), COUNTERFOIL_QUEUE_DEFAULT (8),
    COUNTERFOIL_QUEUE_BULK (4) and COUNTERFOIL_JOB_MAX_CONCURRENT (their sum).

    A worker runs jobs and carries projections forward; a large installation has
    processes for each.  One that only projects needs no kinds, no panel, no queues.

    \b
    Examples:
      counterfoil worker
      counterfoil worker --without projections
      counterfoil worker --only projections
      COUNTERFOIL_QUEUE_CRITICAL=32 counterfoil worker
    """
    if only and without:
        msg = "--only and --without say the same in two ways: give one of them."
        raise click.UsageError(msg)
    roles = chosen(only, without)
    if not roles:
        msg = "Without all of that nothing is left to do."
        raise click.UsageError(msg)

    def announce(services: Services, address: str | None) -> None:
        with suppress(OSError):  # whoever should read it may be gone, its disk full
            _announce(services, roles, address, as_json=as_json)

    installation.work(announce, roles=roles)


@command
@option("--check", is_flag=True, help="Change nothing; exit with 1 if any is pending.")
@as_json
@click.pass_obj
@click.pass_context
def migrate(
    context: click.Context,
    installation: Installation,
    *,
    check: bool,
    as_json: bool,
) -> None:
    r"""Bring the database to this version's schema.

    Safe to repeat and to run twice at once.  A schema that was made by hand is taken
    over when it is exactly ours; otherwise the difference is told and nothing is done.

    \b
    Examples:
      counterfoil migrate
      counterfoil migrate --check && counterfoil worker
    """
    state = installation.migrate(only_check=check)
    if as_json:
        document(
            {
                "newest": state.newest,
                "applied": state.applied,
                "done": state.done,
                "pending": state.pending,
                "adopted": state.adopted,
            }
        )
    else:
        say(_where(state.place), *_told(state))
    context.exit(1 if state.pending else 0)


def _told(state: SchemaState) -> list[str]:
    if state.pending:
        names = ", ".join(state.pending)
        return [f"pending: {names}; run `counterfoil migrate`"]
    if state.adopted:
        return [f"adopted a schema made by hand; it is managed now, at {state.newest}"]
    return [
        *(f"applied {name}" for name in state.done),
        f"up to date at {state.newest}",
    ]


def _announce(
    services: Services, roles: Sequence[str], address: str | None, *, as_json: bool
) -> None:
    place = services.place
    if as_json:
        document(
            {
                "database": "given" if place.home is None else "embedded",
                "home": None if place.home is None else str(place.home),
                "url": None if place.home is None else place.uri,
                "ephemeral": place.is_ephemeral,
                "roles": roles,
                "api": address,
                "probes": services.probed_at,
                "migrated": services.migrated,
                "missing": services.missing,
                "panel": services.panel_package,
                "notices": place.notices,
            }
        )
        return
    say(_where(place), *(f"applied {name}" for name in services.migrated))
    # Not beside the worker's own lines: standard error is JSON and nothing else.
    say(*place.notices)
    if place.is_ephemeral:
        say(f"other commands reach it with COUNTERFOIL_DATABASE_URL={place.uri!r}")
    if address is not None:
        say(f"API: {address}")
    if services.probed_at is not None:
        say(f"probes and metrics: http://{services.probed_at}/readyz and /metrics")
    if JOBS not in roles:
        say(f"{'projecting' if PROJECTIONS in roles else 'answering'}; Ctrl-C stops")
        return
    if services.panel_package is not None:
        say(f"the panel is asked by the adapter of {services.panel_package}")
    if services.missing:
        names = " and ".join(services.missing)
        say(f"no panel, so fulfilment jobs wait: set {names}")
    say("working; Ctrl-C stops")


def _where(place: Place) -> str:
    if place.home is None:
        return "database: the one of COUNTERFOIL_DATABASE_URL"
    kind = (
        "embedded PostgreSQL, NOT durable,"
        if place.is_ephemeral
        else "embedded PostgreSQL"
    )
    return f"database: {kind} in {place.home}"
